package chaos

import (
	"encoding/binary"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"taximeter/checkpoint"
	"taximeter/cluster/admin"
	"taximeter/schemas"
)

func TestClientsComeBackThroughTheirProxy(t *testing.T) {
	for _, version := range []int16{5, 9, 12} {
		m := kmsg.NewPtrMetadataResponse()
		m.SetVersion(version)
		b := kmsg.NewMetadataResponseBroker()
		b.NodeID, b.Host, b.Port = 7, "broker", 9092
		m.Brokers = append(m.Brokers, b)
		head := make([]byte, 8)
		if m.IsFlexible() {
			head = append(head, 0)
		}
		answer := m.AppendTo(head)
		binary.BigEndian.PutUint32(answer, uint32(len(answer)-4))

		got := through("10.0.0.1", 4711)(int16(kmsg.Metadata), version, answer)
		if n := binary.BigEndian.Uint32(got); int(n) != len(got)-4 {
			t.Errorf("version %d: the frame says %d bytes and has %d", version, n, len(got)-4)
		}
		r := kmsg.NewPtrMetadataResponse()
		r.SetVersion(version)
		if err := r.ReadFrom(got[len(head):]); err != nil {
			t.Fatal(err)
		}
		if b := r.Brokers[0]; b.NodeID != 7 || b.Host != "10.0.0.1" || b.Port != 4711 {
			t.Errorf("version %d: broker %+v", version, b)
		}
	}
}

func TestTheDutyCheckerSees(t *testing.T) {
	manifest := func(number checkpoint.Number, by checkpoint.NodeID, e checkpoint.Entry) checkpoint.Manifest {
		return checkpoint.Manifest{Number: number, CreatedBy: by, Entries: []checkpoint.Entry{e}}
	}
	run := func(owner checkpoint.NodeID, epoch checkpoint.Epoch, made checkpoint.Number, first, next int) checkpoint.Entry {
		e := checkpoint.Entry{Owner: owner, Epoch: epoch, Incarnation: checkpoint.Incarnation(epoch), Made: made}
		for t := range e.First {
			e.First[t], e.Next[t] = schemas.Offset(first), schemas.Offset(next)
		}
		return e
	}
	before := manifest(5, "a", run("a", 3, 5, 0, 10))
	for name, c := range map[string]struct {
		after checkpoint.Manifest
		bad   bool
	}{
		"a checkpoint":                           {manifest(6, "a", run("a", 3, 6, 10, 20)), false},
		"another partition's checkpoint":         {manifest(6, "b", run("a", 3, 5, 0, 10)), false},
		"a planned move":                         {manifest(6, "a", run("b", 4, 6, 10, 20)), false},
		"a take-over":                            {manifest(6, "b", run("b", 4, 5, 0, 10)), false},
		"a seal of one who does not own it":      {manifest(6, "b", run("a", 3, 6, 10, 20)), true},
		"a seal in its own taker's favour":       {manifest(6, "b", run("b", 4, 6, 10, 20)), true},
		"a new owner without a new epoch":        {manifest(6, "b", run("b", 3, 5, 0, 10)), true},
		"an epoch that goes back":                {manifest(6, "a", run("a", 2, 5, 0, 10)), true},
		"a seal that does not begin at the cut":  {manifest(6, "a", run("a", 3, 6, 9, 20)), true},
		"a seal that claims an earlier manifest": {manifest(6, "a", run("a", 3, 4, 10, 20)), true},
	} {
		var res Result
		l := lineage{made: make(map[checkpoint.Number]checkpoint.NodeID), outboxes: make(map[checkpoint.Number]checkpoint.OutboxRef)}
		l.follow(before, c.after, 0, &res)
		if res.OK() == c.bad {
			t.Errorf("%s: findings %q", name, res.Findings)
		}
	}
}

func TestTheDutyCheckerSeesAFencedSender(t *testing.T) {
	l := lineage{outboxes: map[checkpoint.Number]checkpoint.OutboxRef{6: {}, 8: {}, 9: {}}}
	sent := map[checkpoint.Number]sender{8: {1, 5}}
	var last sender
	d := &duty{}
	mark := func(made string, by sender) Result {
		var res Result
		d.marker(&kgo.Record{Value: []byte(`{"made":` + made + `}`)}, by, &l, sent, &last, &res)
		return res
	}
	for i, c := range []struct {
		made string
		by   sender
		bad  bool
	}{
		{"6", sender{1, 4}, false},
		{"8", sender{1, 5}, false},
		{"8", sender{1, 5}, true}, // again
		{"9", sender{1, 4}, true}, // by the one before
	} {
		if res := mark(c.made, c.by); res.OK() == c.bad {
			t.Errorf("marker %d: findings %q", i, res.Findings)
		}
	}
}

func TestPercentilesAreSamples(t *testing.T) {
	samples := []time.Duration{4, 1, 3, 2}
	if a, b, c := Percentile(samples, 50), Percentile(samples, 99), Percentile(nil, 50); a != 2 || b != 4 || c != 0 {
		t.Errorf("p50 %d, p99 %d, of none %d", a, b, c)
	}
}

func TestActsAreGivenInWords(t *testing.T) {
	s, err := ClusterOf(1, 3, "kill:2,join")
	if err != nil || len(s.Acts) != 3 || s.Acts[1].Kind != Kill || s.Acts[2].Kind != Join {
		t.Errorf("%v, %v", s, err)
	}
	for _, words := range []string{"sleep", "kill:x"} {
		if _, err := ClusterOf(1, 3, words); err == nil {
			t.Errorf("%q was taken", words)
		}
	}
}

func TestLongActsAreGivenInWords(t *testing.T) {
	s, err := ClusterOf(1, 3, "freeze@60s:2,upgrade")
	if err != nil || len(s.Acts) != 3 || s.Acts[1].For != time.Minute || !s.has(Upgrade) || s.has(Kill) {
		t.Errorf("%v, %v", s, err)
	}
	if s, err := ClusterOf(1, 3, "cut-kafka-all"); err != nil || s.Acts[0].For < 13*time.Second || s.events() < 38_000 {
		t.Errorf("%v, %v", s, err)
	}
	if _, err := ClusterOf(1, 3, "freeze@long"); err == nil {
		t.Error("a length that is none was taken")
	}
}

func TestWhoWasTakenOverIsSeen(t *testing.T) {
	before := checkpoint.Manifest{Members: []checkpoint.NodeID{"a", "b"}, Entries: []checkpoint.Entry{{Owner: "a"}, {Owner: "b", Epoch: 1}}}
	for want, change := range map[string]func(*checkpoint.Manifest){
		"<nil>": func(m *checkpoint.Manifest) { m.Entries[0].Epoch = 2 }, // a start by the same
		"partition 0 went from a to b (manifest 7)": func(m *checkpoint.Manifest) { m.Entries[0].Owner = "b" },
		"the members [a b] became [b] (manifest 7)": func(m *checkpoint.Manifest) { m.Members = m.Members[1:] },
	} {
		now := checkpoint.Manifest{Number: 7, Members: before.Members, Entries: slices.Clone(before.Entries)}
		change(&now)
		if err := unmoved(before, now); fmt.Sprint(err) != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// Each process counts for itself, and what was before the acts is nobody's.
func TestWaitsAreThoseOfTheActs(t *testing.T) {
	inf := math.Inf(1)
	w := waits{before: make(map[string]histogram), last: make(map[string]histogram)}
	w.look("a", histogram{0.01: 5, 0.1: 6, inf: 6}) // before
	w.begun = true
	w.look("a", histogram{0.01: 7, 0.1: 9, inf: 9}) // 2 of 10 ms, 1 of 100
	w.look("a", histogram{0.01: 1, 0.1: 1, inf: 1}) // killed and back: 1 of 10 ms
	w.look("b", histogram{0.01: 0, 0.1: 0, inf: 1}) // joined: 1 of more than can be told
	w.end()
	slices.Sort(w.samples)
	const ms = time.Millisecond
	if want := []time.Duration{10 * ms, 10 * ms, 10 * ms, 100 * ms, 200 * ms}; !slices.Equal(w.samples, want) {
		t.Errorf("waits %v, want %v", w.samples, want)
	}
}

func TestWaitsWhileNothingHappensAreToldApart(t *testing.T) {
	inf := math.Inf(1)
	w := waits{begun: true, before: make(map[string]histogram), last: make(map[string]histogram)}
	w.look("a", histogram{0.01: 2, 0.1: 2, inf: 2})
	w.settle()
	w.look("a", histogram{0.01: 2, 0.1: 3, inf: 3})
	w.settle() // is told so again and again
	w.look("a", histogram{0.01: 3, 0.1: 4, inf: 4})
	w.end()
	const ms = time.Millisecond
	if want := []time.Duration{10 * ms, 10 * ms}; !slices.Equal(w.samples, want) {
		t.Errorf("waits %v, want %v", w.samples, want)
	}
	if want := []time.Duration{10 * ms, 100 * ms}; !slices.Equal(w.still, want) {
		t.Errorf("waits while nothing happens %v, want %v", w.still, want)
	}
}

func TestWaitsAreReadFromTheMetric(t *testing.T) {
	m := admin.NewInputWaits()
	for _, s := range []float64{0.0001, 0.0001, 0.06, 1e6} {
		m.Observe(s)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(m)
	recorder := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	h, err := readWaits(recorder.Body)
	if err != nil || h[0.001] != 2 || h[0.05] != 2 || h[0.1] != 3 || h[math.Inf(1)] != 4 {
		t.Errorf("%v, %v", h, err)
	}
}

// A move that failed has no pause, and is counted.
func TestMovesThatFailAreCounted(t *testing.T) {
	f := &fleet{moves: newMoves()}
	for _, line := range []string{
		`level=INFO msg="partition runs" partition=3 took=20ms restored=1.5ms`,
		`level=INFO msg="partition handed over" partition=3 to=node-2 took=70ms quieted=900µs`,
		`level=INFO msg="partition has read on" partition=3 after=5ms`,
		`level=WARN msg="partition could not be handed over; the chain says who runs it" partition=4 to=node-2 err="context deadline exceeded"`,
		`level=INFO msg="partition runs" partition=4 epoch=2`,
	} {
		f.hear("node-1", line)
	}
	if f.moves.failed != 1 || len(f.moves.runs.took) != 1 || len(f.moves.applied.took) != 1 {
		t.Errorf("%d moves failed, those that did not took %v", f.moves.failed, f.moves.runs.took)
	}
	if p := f.moves.parts; p["handed over, quieted"][0] != 900*time.Microsecond || p["runs, restored"][0] != 1500*time.Microsecond || len(p["has read on, after"]) != 1 {
		t.Errorf("parts %v", p)
	}
}
