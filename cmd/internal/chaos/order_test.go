package chaos

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"taximeter/cmd/internal/published"
	"taximeter/schemas"
	"taximeter/schemas/edge"
)

// A rule that looks at two topics begins its episode with whatever comes last, or not at all.
// Only what one order of the topics decides is taken, of few trips, and never what may be lost.
func TestAlertsOfAnotherOrderOfTheTopicsAreTaken(t *testing.T) {
	const both, before = "multiplicador >= 2.0 && pontos >= 1", "multiplicador >= 2.0 && pontos < 1" // by a point
	type alerts = []schemas.Alert
	seen := func(_, other alerts) alerts { return other }
	for name, c := range map[string]struct {
		rules []string
		trips int
		lapse float64
		came  func(expected, other alerts) alerts
		taken int
	}{
		"telemetry was seen first":           {[]string{both}, 1, 60, seen, 1},
		"it could not have been":             {[]string{both}, 1, 0.1, seen, 0},
		"both are told":                      {[]string{both}, 1, 60, func(e, o alerts) alerts { return append(e, o...) }, 0},
		"none came, and no order says so":    {[]string{both}, 1, 60, func(_, _ alerts) alerts { return nil }, 0},
		"none came, and one order says so":   {[]string{before}, 1, 60, seen, 1},
		"the same order says all of a trip":  {[]string{both, before}, 1, 60, seen, 2},
		"the other rule shows it is lost":    {[]string{both, before}, 1, 60, func(e, _ alerts) alerts { return e[1:] }, 0},
		"all of a trip is lost":              {[]string{both, before}, 1, 60, func(_, _ alerts) alerts { return nil }, 0},
		"no order decides it":                {[]string{both}, 1, 60, with(func(a *schemas.Alert) { a.AlertID = "other" }), 0},
		"no order has this content":          {[]string{both}, 1, 60, with(func(a *schemas.Alert) { a.DecidedAt++ }), 0},
		"twice is never right":               {[]string{both}, 1, 60, func(_, o alerts) alerts { return append(o, o...) }, 0},
		"what simulate says needs no excuse": {[]string{both}, 1, 60, func(e, _ alerts) alerts { return e }, 0},
		"three trips":                        {[]string{both}, 3, 60, seen, 3},
		"a fourth is none too many":          {[]string{both}, 4, 60, seen, 0},
		"a fourth that is missing as well":   {[]string{before}, 4, 60, seen, 0},
	} {
		t.Run(name, func(t *testing.T) {
			m := matched(t, c.trips, c.rules)
			open := make(map[decision]bool)
			for i := range c.trips {
				open[decision{trip: schemas.TripID(fmt.Sprintf("corrida-%d", i))}] = true
			}
			lines, err := m.linesOf(3, open)
			if err != nil {
				t.Fatal(err)
			}
			other, err := m.simulateAhead(t.Context(), 3, lines, 2000, t.TempDir())
			if err != nil || slices.ContainsFunc(other, func(a schemas.Alert) bool { return a.OnsetID[:5] != "match" }) {
				t.Fatalf("%v; telemetry first: %v", err, other)
			}
			got := &published.Results{Alerts: c.came(slices.Clone(m.expected.Alerts), slices.Clone(other))}
			var before, after Result
			checkAlerts(&m.expected, got, &before)
			taken, err := m.asSeen(t.Context(), 3, c.lapse, got, t.TempDir())
			checkAlerts(&m.expected, got, &after)
			if err != nil || len(taken) != c.taken || after.OK() != (before.OK() || c.taken > 0) {
				t.Errorf("took %v, %v; found %q, then %q", taken, err, before.Findings, after.Findings)
			}
		})
	}
}

// with changes the alerts of the other order.
func with(change func(*schemas.Alert)) func(_, other []schemas.Alert) []schemas.Alert {
	return func(_, other []schemas.Alert) []schemas.Alert {
		for i := range other {
			change(&other[i])
		}
		return other
	}
}

// matched is what simulate says of trips that each have a match and, a second later, a point.
func matched(t *testing.T, trips int, conditions []string) *material {
	t.Helper()
	const at = cityStart
	double := schemas.Mils(2000)
	var lines [2][]edge.Line
	for i := range trips {
		trip, match, point := schemas.TripID(fmt.Sprintf("corrida-%d", i)), schemas.EventID(fmt.Sprintf("match-%d", i)), schemas.EventID(fmt.Sprintf("point-%d", i))
		lines[0] = append(lines[0], edge.Line{Topic: schemas.Rides, AppendedAt: at + 2000, Ride: &schemas.RideRecord{EventID: match, TripID: trip, At: at, Kind: "MATCH", Multiplier: &double}})
		lines[1] = append(lines[1], edge.Line{Topic: schemas.Telemetry, AppendedAt: at + 3000, Telemetry: &schemas.TelemetryRecord{EventID: point, TripID: trip, At: at + 1000, Lat: -23.5, Lon: -46.6}})
	}
	var text bytes.Buffer
	w := edge.NewWriter(&text)
	for _, l := range slices.Concat(lines[0], lines[1]) {
		if err := w.Write(&l); err != nil {
			t.Fatal(err)
		}
	}
	m := &material{file: filepath.Join(t.TempDir(), "events.jsonl"), letters: make(map[schemas.Partition]int64)}
	for i, condition := range conditions {
		m.rules = append(m.rules, schemas.Rule{RuleID: fmt.Sprintf("regra-%d", i), Version: 1, Kind: "expressao", Active: true, ValidFrom: at - schemas.Day,
			Params: map[string]string{"expressao": condition}})
	}
	if err := errors.Join(w.Flush(), os.WriteFile(m.file, text.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := m.simulate(t.Context(), Scenario{Partitions: 3}, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	return m
}
