package chaos

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"taximeter/cmd/internal/published"
	"taximeter/schemas"
	"taximeter/schemas/edge"
)

// A rule that looks at two topics begins its episode with whatever comes last. Only what one
// order of the topics decides is taken, and never two orders' alerts.
func TestAlertsOfAnotherOrderOfTheTopicsAreTaken(t *testing.T) {
	const trip, at = "corrida", cityStart
	dir := t.TempDir()
	double := schemas.Mils(2000)
	lines := []edge.Line{
		{Topic: schemas.Rides, AppendedAt: at + 2000, Ride: &schemas.RideRecord{EventID: "match", TripID: trip, At: at, Kind: "MATCH", Multiplier: &double}},
		{Topic: schemas.Telemetry, AppendedAt: at + 3000, Telemetry: &schemas.TelemetryRecord{EventID: "point", TripID: trip, At: at + 1000, Lat: -23.5, Lon: -46.6}},
	}
	var text bytes.Buffer
	w := edge.NewWriter(&text)
	for i := range lines {
		if err := w.Write(&lines[i]); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "events.jsonl")
	if err := errors.Join(w.Flush(), os.WriteFile(file, text.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	rules := []schemas.Rule{{RuleID: "cara", Version: 1, Kind: "expressao", Active: true, ValidFrom: at - schemas.Day,
		Params: map[string]string{"expressao": "multiplicador >= 2.0 && pontos >= 1"}}}
	alert := func(onset schemas.EventID) schemas.Alert {
		return schemas.Alert{AlertID: schemas.AlertID("cara", trip, onset), RuleID: "cara", TripID: trip, OnsetID: onset}
	}
	for name, c := range map[string]struct {
		came  []schemas.Alert
		lapse float64
		taken bool
	}{
		"telemetry was seen first":           {[]schemas.Alert{alert("match")}, 60, true},
		"it could not have been":             {[]schemas.Alert{alert("match")}, 0.1, false},
		"both are told":                      {[]schemas.Alert{alert("match"), alert("point")}, 60, false},
		"none is":                            {nil, 60, false},
		"no order decides it":                {[]schemas.Alert{alert("other")}, 60, false},
		"twice is never right":               {[]schemas.Alert{alert("match"), alert("match")}, 60, false},
		"what simulate says needs no excuse": {[]schemas.Alert{alert("point")}, 60, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := &material{file: file, rules: rules, letters: make(map[schemas.Partition]int64)}
			if err := m.simulate(t.Context(), Scenario{Partitions: 3}, t.TempDir()); err != nil {
				t.Fatal(err)
			}
			got := &published.Results{Alerts: c.came}
			var before, after Result
			checkAlerts(&m.expected, got, &before)
			taken, err := m.asSeen(t.Context(), 3, c.lapse, got, t.TempDir())
			checkAlerts(&m.expected, got, &after)
			if err != nil || (len(taken) == 1) != c.taken || after.OK() != (before.OK() || c.taken) {
				t.Errorf("took %v, %v; found %q, then %q", taken, err, before.Findings, after.Findings)
			}
		})
	}
}
