package window

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// scenario is a script: an event is "key@ms", a watermark "w=ms"; after "->" stand the
// results and, in brackets, what the event was closed out of.
type scenario struct {
	name  string
	cfg   Config[string, []string]
	steps []string
}

func (s Span) shortly() string { return fmt.Sprintf("%d..%d", s.Start, s.End) }

// A bare clone has no peers' cases, so the same ground is covered here once more.
func TestOperatorScripts(t *testing.T) {
	with := func(change func(*Config[string, []string])) Config[string, []string] {
		cfg := gatherAll()
		change(&cfg)
		return cfg
	}
	for _, s := range []scenario{
		{"a late event fires the whole window again, one beyond is told", with(func(c *Config[string, []string]) {
			c.Assign, c.Lateness = Tumbling{Size: 10}, 5
		}), []string{
			"a@1 ->", "a@9 ->", "b@2 ->", "w=9 ->", "w=10 -> a 0..10 v1 2; b 0..10 v1 1",
			"a@3 -> a 0..10 v2 3 late", "w=14 ->", "a@4 -> a 0..10 v3 4 late", "w=15 ->", "a@5 -> [0..10]",
			"w=9 ->", "a@14 ->", "w=1000 -> a 10..20 v1 1", "a@14 -> [10..20]",
		}},
		{"a late first event fires at once", with(func(c *Config[string, []string]) {
			c.Assign, c.Lateness = Tumbling{Size: 10}, 5
		}), []string{"w=12 ->", "a@1 -> a 0..10 v1 1 late", "w=20 ->"}},
		{"discarding gives what came since", with(func(c *Config[string, []string]) {
			c.Assign, c.Lateness, c.Panes = Tumbling{Size: 10}, 5, Discarding
		}), []string{"a@1 ->", "a@2 ->", "w=12 -> a 0..10 v1 2", "a@1 -> a 0..10 v2 1 late", "w=99 ->"}},
		{"on close fires once, with what came late", with(func(c *Config[string, []string]) {
			c.Assign, c.Lateness, c.Emit = Tumbling{Size: 10}, 5, OnClose
		}), []string{"a@1 ->", "w=12 ->", "a@1 ->", "w=14 ->", "w=15 -> a 0..10 v1 2", "a@1 -> [0..10]"}},
		{"a jump of stream time loses no window", with(func(c *Config[string, []string]) {
			c.Assign, c.Time, c.Emit = Hopping{Size: 10, Advance: 5, Starts: StartFromEpoch}, Stream, OnClose
		}), []string{"a@0 ->", "a@11 -> a 0..10 v1 1", "b@1000 -> a 5..15 v1 1; a 10..20 v1 1"}},
		{"an event is beyond only when every window of it is closed", with(func(c *Config[string, []string]) {
			c.Assign = Hopping{Size: 10, Advance: 5}
		}), []string{"w=10 ->", "a@7 -> [0..10]", "w=15 -> a 5..15 v1 1", "a@7 -> [0..10] [5..15]"}},
		{"an event that bridges two sessions makes them one", with(func(c *Config[string, []string]) {
			c.Assign = Sessions{Gap: 10}
		}), []string{"a@0 ->", "a@15 ->", "b@15 ->", "a@8 ->", "w=24 ->", "w=25 -> a 0..25 v1 3; b 15..25 v1 1", "a@16 ->", "w=26 -> a 16..26 v1 1"}},
		{"sessions that touch", with(func(c *Config[string, []string]) {
			c.Assign = Sessions{Gap: 10, Touching: Merged}
		}), []string{"a@0 ->", "a@10 ->", "w=20 -> a 0..20 v1 2"}},
		{"sessions that touch stay apart", with(func(c *Config[string, []string]) {
			c.Assign = Sessions{Gap: 10}
		}), []string{"a@0 ->", "a@10 ->", "w=20 -> a 0..10 v1 1; a 10..20 v1 1"}},
		{"a fired session that grows fires again under its wider span", with(func(c *Config[string, []string]) {
			c.Assign, c.Lateness = Sessions{Gap: 10}, 20
		}), []string{"a@0 ->", "w=12 -> a 0..10 v1 1", "a@9 ->", "w=19 -> a 0..19 v2 2", "a@5 -> a 0..19 v3 3 late", "w=39 ->", "a@25 -> a 25..35 v1 1 late"}},
		{"the end of time closes everything", with(func(c *Config[string, []string]) {
			c.Assign, c.Lateness = Tumbling{Size: 10}, Unbounded
		}), []string{"a@1 ->", fmt.Sprintf("w=%d -> a 0..10 v1 1", last), "a@1 -> [0..10]"}},
	} {
		for _, restored := range []string{"", " (restored after every step)"} {
			t.Run(s.name+restored, func(t *testing.T) { s.run(t, restored != "") })
		}
	}
}

func (s scenario) run(t *testing.T, restore bool) {
	t.Helper()
	op, err := New[string](s.cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range s.steps {
		input, want, _ := strings.Cut(step, "->")
		var results []Result[string, []string]
		var told []string
		var key string
		var at int64
		if n, _ := fmt.Sscanf(input, "w=%d", &at); n == 1 {
			results = op.Advance(at)
		} else if _, err := fmt.Sscanf(strings.Replace(input, "@", " ", 1), "%s %d", &key, &at); err == nil {
			out := op.Event(key, at, "x")
			results = out.Results
			for _, d := range out.Dropped {
				told = append(told, "["+d.shortly()+"]")
			}
		} else {
			t.Fatalf("step %q", step)
		}
		var fired []string
		for _, r := range results {
			f := fmt.Sprintf("%s %s v%d %d", r.Key, r.Span.shortly(), r.Version, len(r.Value))
			if r.Class == Late {
				f += " late"
			}
			fired = append(fired, f)
		}
		if len(fired) > 0 {
			told = slices.Insert(told, 0, strings.Join(fired, "; "))
		}
		if got := strings.Join(told, " "); got != strings.TrimSpace(want) {
			t.Fatalf("%s-> %s\nwant -> %s", input, got, strings.TrimSpace(want))
		}
		if restore {
			op = throughBytes(t, s.cfg, op)
		}
	}
}

func TestRestoreRefusesAnotherConfiguration(t *testing.T) {
	cfg := gatherAll()
	cfg.Assign, cfg.Lateness = Tumbling{Size: 10}, 100
	op, err := New[string](cfg)
	if err != nil {
		t.Fatal(err)
	}
	op.Event("a", 1, "x")
	op.Advance(50)
	cfg.Lateness = 0
	if _, err := Restore(cfg, op.Snapshot()); err == nil {
		t.Fatal("took windows that are closed under this configuration")
	}
}
