package chaos

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"

	"taximeter/cluster/admin"
	"taximeter/cmd/internal/published"
	"taximeter/schemas"
)

// rightResults is a little of everything, as it must come out.
func rightResults() (*material, *published.Results, []admin.PartitionStatus, kadm.ListedOffsets) {
	bill := schemas.Bill{TripID: "t", EventID: "e1", Version: 1, Amount: 700, DistanceMM: 5000}
	window := schemas.Window{TripID: "t", Start: 300_000, Version: 1, Points: 4}
	alert := schemas.Alert{AlertID: "a", RuleID: "r", TripID: "t"}
	m := &material{records: map[schemas.Partition]int64{0: 6}, letters: map[schemas.Partition]int64{0: 1},
		expected: published.Results{Bills: []schemas.Bill{bill}, Windows: []schemas.Window{window}, Alerts: []schemas.Alert{alert}}}
	corrected := bill
	corrected.Version, corrected.EventID, corrected.Rectification, corrected.Difference = 2, "e2", true, -10
	first := bill
	first.Amount = 710
	got := &published.Results{Bills: []schemas.Bill{first, corrected}, Windows: []schemas.Window{window}, Alerts: []schemas.Alert{alert},
		Letters: []published.Letter{{Headers: map[string]string{schemas.HeaderSource: "corridas.telemetria/0/3"}}}}
	status := []admin.PartitionStatus{{NextOffset: [schemas.NumInputs]schemas.Offset{4, 1, 4}, Control: 2,
		Verdicts: map[string]int64{"contado": 4, "dlq:coordenadas": 1, "duplicado": 1, "proprio": 1}}}
	ends := kadm.ListedOffsets{}
	for i, end := range []int64{4, 1, 5} {
		ends[inputs[i]] = map[int32]kadm.ListedOffset{0: {Topic: inputs[i], Offset: end}}
	}
	return m, got, status, ends
}

func TestTheCheckerFinds(t *testing.T) {
	type all struct {
		*material
		*published.Results
		status []admin.PartitionStatus
	}
	again := func(b schemas.Bill, version int, amount schemas.Cents) schemas.Bill {
		b.Version, b.Amount = version, amount
		return b
	}
	for name, c := range map[string]struct {
		spoil                          func(a *all)
		duplicated, missing, differing int
	}{
		"nothing where all is right": {func(*all) {}, 0, 0, 0},
		"a bill published twice":     {func(a *all) { a.Bills = append(a.Bills, a.Bills[0]) }, 1, 0, 0},
		"a bill that is missing":     {func(a *all) { a.Bills = nil }, 0, 1, 0},
		"a version that is missing":  {func(a *all) { a.Bills = a.Bills[1:] }, 0, 1, 0},
		"another amount":             {func(a *all) { a.Bills = append(a.Bills, again(a.Bills[0], 3, 701)) }, 0, 0, 1},
		"a bill too many": {func(a *all) {
			other := a.Bills[0]
			other.TripID = "other"
			a.Bills = append(a.Bills, other)
		}, 0, 0, 1},
		"a window published twice": {func(a *all) { a.Windows = append(a.Windows, a.Windows[0]) }, 1, 0, 0},
		"a window that is missing": {func(a *all) { a.Windows = nil }, 0, 1, 0},
		"another window":           {func(a *all) { a.Windows[0].Points = 5 }, 0, 0, 1},
		"an alert sent twice":      {func(a *all) { a.Alerts = append(a.Alerts, a.Alerts[0]) }, 1, 0, 0},
		"an alert that is missing": {func(a *all) { a.Alerts = nil }, 0, 1, 0},
		"an alert too many": {func(a *all) {
			a.Alerts = append(a.Alerts, schemas.Alert{AlertID: "b"})
		}, 0, 0, 1},
		"a dead letter published twice": {func(a *all) { a.Letters = append(a.Letters, a.Letters[0]) }, 1, 0, 0},
		"a dead letter that is missing": {func(a *all) { a.Letters = nil }, 0, 1, 0},
		"a record without a verdict":    {func(a *all) { a.status[0].Verdicts["contado"]-- }, 0, 0, 2},
		"a topic not read to its end": {func(a *all) {
			a.status[0].NextOffset[schemas.Rides] = 0
			a.status[0].Verdicts["contado"]--
		}, 0, 1, 1},
		"no word of the partitions": {func(a *all) { a.status = nil }, 0, 1, 0},
		"nothing where a bill was voided that simulate never made": {func(a *all) {
			a.Bills = append(a.Bills, schemas.Bill{TripID: "v", Version: 1, Amount: 5}, schemas.Bill{TripID: "v", Version: 2, Motive: schemas.MotiveVoided})
		}, 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			m, got, status, ends := rightResults()
			a := all{m, got, status}
			c.spoil(&a)
			var r Result
			check(m, got, a.status, ends, &r)
			if r.Duplicated != c.duplicated || r.Missing != c.missing || r.Differing != c.differing {
				t.Errorf("duplicated=%d missing=%d differing=%d, want %d %d %d: %q", r.Duplicated, r.Missing, r.Differing, c.duplicated, c.missing, c.differing, r.Findings)
			}
		})
	}
}
