package dev

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"taximeter/cmd/internal/city"
	"taximeter/cmd/internal/simulation"
	"taximeter/schemas"
	"taximeter/schemas/edge"
)

// One program reads the dead letters of both: the same lines, but for fields that an event
// did not have, which Avro spells out as null, for raw bytes that are JSON text, which Kafka
// does not tell from a record, and for the words of the detail.
func TestDeadLettersAreThoseOfSimulate(t *testing.T) {
	o := quiet(t)
	dir := t.TempDir()
	o.Events, o.UntilDone, o.Out = []string{filepath.Join(dir, "events.jsonl")}, true, filepath.Join(dir, "dev")
	cfg := city.Default(1, 1_764_000_000_000)
	cfg.Events, cfg.TelemetrySchema = 20_000, 0 // simulate has no registry to know a schema by
	o.Tariffs = cfg.Tariffs
	live, err := city.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	w := edge.NewWriter(&text)
	for line, ok := live.Next(); ok; line, ok = live.Next() {
		if err := w.Write(line); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(o.Events[0], text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	simulated := simulation.Options{Events: o.Events, Tariffs: o.Tariffs, MaxSpeedKmh: o.MaxSpeedKmh, Partitions: o.Partitions, Out: filepath.Join(dir, "simulate")}
	if _, err := simulation.Run(t.Context(), simulated); err != nil {
		t.Fatal(err)
	}
	got, want := readLetters(t, o.Out), readLetters(t, simulated.Out)
	if len(got) < 15 || len(got) != len(want) {
		t.Fatalf("%d dead letters, simulate has %d", len(got), len(want))
	}
	reasons := make(map[schemas.Verdict]int)
	for source, x := range want {
		y, ok := got[source]
		if !ok || x != y {
			t.Errorf("%s:\n got %+v\nwant %+v", source, y, x)
		}
		reasons[x.reason]++
	}
	if len(reasons) < 5 {
		t.Errorf("a poor recording: %v", reasons)
	}
}

// told is what both must say of a dead letter.
type told struct {
	reason   schemas.Verdict
	trip     schemas.TripID
	event    schemas.EventID
	appended schemas.Millis
	key      string
	members  string // of the value that are not null
	raw      string
}

func readLetters(t *testing.T, dir string) map[string]told {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, simulation.DeadLettersFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all := make(map[string]told)
	lines := json.NewDecoder(bufio.NewReader(f))
	lines.DisallowUnknownFields()
	for lines.More() {
		var l simulation.Letter
		if err := lines.Decode(&l); err != nil {
			t.Fatal(err)
		}
		if json.Valid(l.Raw) {
			l.Value, l.Raw = l.Raw, nil
		}
		var members map[string]json.RawMessage
		if l.Value != nil {
			if err := json.Unmarshal(l.Value, &members); err != nil {
				t.Fatal(err)
			}
		}
		var names []string
		for name, v := range members {
			if string(v) != "null" {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		key, err := json.Marshal(names)
		if err != nil {
			t.Fatal(err)
		}
		x := told{reason: l.Reason, trip: l.TripID, event: l.EventID, members: string(key), raw: string(l.Raw)}
		if l.AppendedAt != nil {
			x.appended = *l.AppendedAt
		}
		if l.Key != nil {
			x.key = *l.Key
		}
		source, err := json.Marshal([]any{l.Topic, l.Partition, l.Offset})
		if err != nil {
			t.Fatal(err)
		}
		all[string(source)] = x
	}
	return all
}
