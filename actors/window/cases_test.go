package window

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"taximeter/internal/shared"
)

// The twelve cases were read off the test suites of Flink, Kafka Streams and Beam; each file
// entry names its source. What a peer is recorded to lose (peer_omits) ours must give.

type caseFile struct {
	Cases []struct {
		ID     string
		Params caseParams
		Steps  []caseStep
		Omits  []caseResult `json:"peer_omits"`
	}
}

type caseParams struct {
	Model           string
	Window          string
	Size            int64
	Advance         int64
	Gap             int64
	TouchingMerges  bool            `json:"touching_merges"`
	NoNegativeStart bool            `json:"no_negative_start"`
	SessionEnd      string          `json:"session_end"`
	AllowedLateness json.RawMessage `json:"allowed_lateness"`
	Grace           int64
	Mode            string
	Emit            string
	Agg             string
}

type caseStep struct {
	Op          string
	Key         string
	Value       json.RawMessage
	Ts          int64
	Emit        []caseResult
	Late        bool
	DroppedFrom [][2]int64 `json:"dropped_from"`
}

type caseResult struct {
	Key        string
	Start, End int64
	Value      json.RawMessage
}

func (r caseResult) String() string {
	return fmt.Sprintf("%s[%d,%d)=%s", r.Key, r.Start, r.End, r.Value)
}

func TestCasesOfThePeers(t *testing.T) {
	raw, err := os.ReadFile(shared.Path(t, "cases/window-cases.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file caseFile
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) != 12 {
		t.Fatalf("%d cases, want 12", len(file.Cases))
	}
	for _, c := range file.Cases {
		for name, run := range map[string]caseRun{"": {}, "/restored after every step": {restore: true}} {
			t.Run(c.ID+name, func(t *testing.T) {
				run.cfg, run.inclusive = c.Params.config(t)
				run.agg, run.stream = c.Params.Agg, c.Params.Model == "stream_time"
				given := run.run(t, c.Steps)
				for _, r := range c.Omits {
					if !slices.Contains(given, r.String()) {
						t.Errorf("lost %v, as the peer does", r)
					}
				}
			})
		}
	}
}

// config says the case's parameters in our words. inclusive is what our session end lies
// past the end that the case prints.
func (p caseParams) config(t *testing.T) (cfg Config[string, []string], inclusive int64) {
	t.Helper()
	cfg = gatherAll()
	switch p.Window {
	case "tumbling":
		cfg.Assign = Tumbling{Size: p.Size}
	case "hopping":
		h := Hopping{Size: p.Size, Advance: p.Advance}
		if p.NoNegativeStart {
			h.Starts = StartFromEpoch
		}
		cfg.Assign = h
	case "session":
		s := Sessions{Gap: p.Gap}
		switch {
		case p.SessionEnd != "":
			s.Gap, inclusive = p.Gap+1, p.Gap+1
		case p.TouchingMerges:
			s.Touching = Merged
		}
		cfg.Assign = s
	default:
		t.Fatalf("window %q", p.Window)
	}
	switch string(p.AllowedLateness) {
	case "":
		cfg.Lateness = p.Grace
	case `"unbounded"`:
		cfg.Lateness = Unbounded
	default:
		if err := json.Unmarshal(p.AllowedLateness, &cfg.Lateness); err != nil {
			t.Fatal(err)
		}
	}
	if p.Model == "stream_time" {
		cfg.Time = Stream
	}
	if p.Emit == "final_on_close" {
		cfg.Emit = OnClose
	}
	if p.Mode == "discarding" {
		cfg.Panes = Discarding
	}
	return cfg, inclusive
}

// gatherAll keeps every value of a window, so that any aggregate can be told of it.
func gatherAll() Config[string, []string] {
	return Config[string, []string]{
		Add:   func(a []string, v string) []string { return append(slices.Clip(a), v) },
		Merge: func(a, b []string) []string { return slices.Concat(a, b) },
	}
}

type caseRun struct {
	cfg       Config[string, []string]
	agg       string
	stream    bool
	inclusive int64
	restore   bool // after every step
}

func (c caseRun) run(t *testing.T, steps []caseStep) (given []string) {
	t.Helper()
	op, err := New[string](c.cfg)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range steps {
		var got []string
		switch s.Op {
		case "event":
			out := op.Event(s.Key, s.Ts, strings.Trim(string(s.Value), `"`))
			got = c.tell(t, out.Results)
			c.checkDrops(t, i, s, out)
		case "watermark":
			got = c.tell(t, op.Advance(after(s.Ts, 1))) // the peers' w is "up to and including w"
		case "snapshot_restore":
			op = throughBytes(t, c.cfg, op)
		default:
			t.Fatalf("step %d: op %q", i, s.Op)
		}
		var want []string
		for _, r := range s.Emit {
			want = append(want, r.asValue())
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("step %d (%s %s %d): results %v, want %v", i, s.Op, s.Key, s.Ts, got, want)
		}
		for _, r := range s.Emit {
			if slices.Contains(got, r.asValue()) {
				given = append(given, r.String())
			}
		}
		if c.restore {
			op = throughBytes(t, c.cfg, op)
		}
	}
	return given
}

// checkDrops compares what an event was closed out of. The driven cases only say whether it
// was late altogether; the stream-time cases list the windows.
func (c caseRun) checkDrops(t *testing.T, i int, s caseStep, out Outcome[string, []string]) {
	t.Helper()
	if !c.stream {
		if (out.Class == Beyond) != s.Late {
			t.Errorf("step %d (%s %d): %v, want late=%v", i, s.Key, s.Ts, out.Class, s.Late)
		}
		return
	}
	var got [][2]int64
	for _, d := range out.Dropped {
		got = append(got, [2]int64{d.Start, d.End - c.inclusive})
	}
	if !slices.Equal(got, s.DroppedFrom) {
		t.Errorf("step %d (%s %d): dropped from %v, want %v", i, s.Key, s.Ts, got, s.DroppedFrom)
	}
}

func (r caseResult) asValue() string {
	var compact []json.RawMessage
	value := strings.Trim(string(r.Value), `"`)
	if json.Unmarshal(r.Value, &compact) == nil {
		var items []string
		for _, v := range compact {
			items = append(items, string(v))
		}
		value = strings.Join(items, ",")
	}
	return fmt.Sprintf("%s[%d,%d)=%s", r.Key, r.Start, r.End, value)
}

func (c caseRun) tell(t *testing.T, results []Result[string, []string]) (told []string) {
	t.Helper()
	for _, r := range results {
		var value string
		switch c.agg {
		case "sum":
			sum := 0
			for _, v := range r.Value {
				n, err := strconv.Atoi(v)
				if err != nil {
					t.Fatal(err)
				}
				sum += n
			}
			value = strconv.Itoa(sum)
		case "count":
			value = strconv.Itoa(len(r.Value))
		case "concat":
			value = strings.Join(r.Value, "+")
		case "multiset":
			value = strings.Join(r.Value, ",")
		default:
			t.Fatalf("agg %q", c.agg)
		}
		told = append(told, fmt.Sprintf("%s[%d,%d)=%s", r.Key, r.Span.Start, r.Span.End-c.inclusive, value))
	}
	return told
}

// throughBytes is a crash: all that is left of op is what an encoder wrote down.
func throughBytes[V, A any](t rapid.TB, cfg Config[V, A], op *Operator[string, V, A]) *Operator[string, V, A] {
	t.Helper()
	raw, err := json.Marshal(op.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	var s Snapshot[string, A]
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	restored, err := Restore(cfg, s)
	if err != nil {
		t.Fatal(err)
	}
	return restored
}
