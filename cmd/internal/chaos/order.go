package chaos

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"taximeter/cmd/internal/events"
	"taximeter/cmd/internal/published"
	"taximeter/schemas"
)

// Alerts are decided on arrival, in the state as it then stands (the contract, section 6), and a
// node at the end of the logs waits for no topic: it may see one topic's records some hundred
// milliseconds before another's that were appended earlier. Of a trip whose rules look at both,
// that order decides which event begins an episode, or whether there is one.

// leads are by how much one topic may have been seen ahead of the others. The last is what a
// node waits at most for a topic that should have more at hand (ingest's patience).
var leads = []time.Duration{31 * time.Millisecond, 62 * time.Millisecond, 125 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second}

// maxReordered is how many rules of trips a run may be excused. The order of topics decides one
// or two; where it seems to decide more, something else is wrong, and none is excused.
const maxReordered = 3

// decision is what one rule tells of one trip.
type decision struct {
	rule string
	trip schemas.TripID
}

func (d decision) String() string { return fmt.Sprintf("rule %s, trip %s", d.rule, d.trip) }

func (d decision) tells(a *schemas.Alert) bool { return a.RuleID == d.rule && a.TripID == d.trip }

// ofTrip is for whatever any rule tells of the trip.
func (d decision) ofTrip(a *schemas.Alert) bool { return a.TripID == d.trip }

// of are the alerts that are meant, each by what text makes of it, in an order of their own.
func of(alerts []schemas.Alert, meant func(*schemas.Alert) bool, text func(*schemas.Alert) string) (all []string) {
	for i := range alerts {
		if meant(&alerts[i]) {
			all = append(all, text(&alerts[i]))
		}
	}
	slices.Sort(all)
	return all
}

// differing are the decisions of which other alerts came than wanted, by their ids.
func differing(wanted, came []schemas.Alert) map[decision]bool {
	ids := func(alerts []schemas.Alert) map[decision][]string {
		ids := make(map[decision][]string)
		for i := range alerts {
			d := decision{alerts[i].RuleID, alerts[i].TripID}
			ids[d] = append(ids[d], alerts[i].AlertID)
		}
		for d := range ids {
			slices.Sort(ids[d])
		}
		return ids
	}
	w, c := ids(wanted), ids(came)
	open := make(map[decision]bool)
	for _, told := range []map[decision][]string{w, c} {
		for d := range told {
			if !slices.Equal(w[d], c[d]) {
				open[d] = true
			}
		}
	}
	return open
}

// explains reports whether what came of d is what this other order of the topics decides. Fewer
// alerts than wanted are also what a lost one looks like: then all that came of the trip must be
// those that this very order decides.
func explains(other, wanted, came []schemas.Alert, d decision) bool {
	fields := func(a *schemas.Alert) string { return fmt.Sprintf("%+v", *a) }
	id := func(a *schemas.Alert) string { return a.AlertID }
	told := of(came, d.tells, fields)
	if !slices.Equal(told, of(other, d.tells, fields)) {
		return false
	}
	return len(told) >= len(of(wanted, d.tells, id)) || slices.Equal(of(came, d.ofTrip, id), of(other, d.ofTrip, id))
}

// asSeen takes for expected what came of a rule and a trip, where it is to the last alert and
// field what simulate decides when telemetry is seen ahead of the other topics, or behind them:
// never more than one order decides. It tells of which it did, maxReordered at most. lapse is how much faster
// than its own the city's time went.
func (m *material) asSeen(ctx context.Context, partitions int, lapse float64, got *published.Results, dir string) (taken []decision, err error) {
	open := differing(m.expected.Alerts, got.Alerts)
	if len(open) == 0 || len(open) > maxReordered {
		return nil, nil
	}
	lines, err := m.linesOf(partitions, open)
	if err != nil {
		return nil, err
	}
	for _, lead := range leads {
		for _, by := range []time.Duration{lead, -lead} {
			if len(open) == 0 {
				break
			}
			other, err := m.simulateAhead(ctx, partitions, lines, schemas.Millis(float64(by.Milliseconds())*lapse), dir)
			if err != nil {
				return taken, err
			}
			for d := range open {
				if explains(other, m.expected.Alerts, got.Alerts, d) {
					delete(open, d)
					taken = append(taken, d)
				}
			}
		}
	}
	is := func(a schemas.Alert) bool { return slices.Contains(taken, decision{a.RuleID, a.TripID}) }
	alerts := slices.DeleteFunc(slices.Clone(m.expected.Alerts), is)
	m.expected.Alerts = append(alerts, slices.DeleteFunc(slices.Clone(got.Alerts), func(a schemas.Alert) bool { return !is(a) })...)
	return taken, nil
}

// sourceLine is one line of the file of events.
type sourceLine struct {
	topic schemas.Topic
	at    schemas.Millis // appended
	text  []byte
}

// linesOf reads the events of all partitions that have one of these trips.
func (m *material) linesOf(partitions int, open map[decision]bool) (lines []sourceLine, err error) {
	concerned := make(map[schemas.Partition]bool)
	for d := range open {
		concerned[schemas.PartitionOf([]byte(d.trip), partitions)] = true
	}
	parsed, err := events.Open([]string{m.file})
	if err != nil {
		return nil, err
	}
	defer parsed.Close()
	file, err := os.Open(m.file)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	const longest = 1 << 20
	text := bufio.NewScanner(file)
	text.Buffer(nil, longest)
	for {
		line, err := parsed.Next()
		if err == io.EOF {
			return lines, nil
		}
		if err != nil || !text.Scan() {
			return nil, fmt.Errorf("read %s again: %w", m.file, errors.Join(err, text.Err()))
		}
		if concerned[schemas.PartitionOf(line.RecordKey(), partitions)] {
			lines = append(lines, sourceLine{line.Topic, line.AppendedAt, slices.Clone(text.Bytes())})
		}
	}
}

// simulateAhead decides the alerts of these events as if telemetry came so much earlier.
func (m *material) simulateAhead(ctx context.Context, partitions int, lines []sourceLine, by schemas.Millis, dir string) ([]schemas.Alert, error) {
	seen := func(l sourceLine) schemas.Millis {
		if l.topic == schemas.Telemetry {
			return l.at.Add(-by)
		}
		return l.at
	}
	ordered := slices.SortedStableFunc(slices.Values(lines), func(a, b sourceLine) int {
		return cmp.Or(cmp.Compare(seen(a), seen(b)), cmp.Compare(a.topic, b.topic))
	})
	var text bytes.Buffer
	for _, l := range ordered {
		text.Write(l.text)
		text.WriteByte('\n')
	}
	other := &material{file: filepath.Join(dir, "other-order.jsonl"), tariffs: m.tariffs, rules: m.rules, letters: make(map[schemas.Partition]int64)}
	out := filepath.Join(dir, "other-order")
	if err := errors.Join(os.RemoveAll(out), os.WriteFile(other.file, text.Bytes(), 0o600)); err != nil {
		return nil, err
	}
	err := other.simulate(ctx, Scenario{Partitions: partitions}, out)
	return other.expected.Alerts, err
}
