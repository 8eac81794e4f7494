package host_test

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"taximeter/actors/host"
	"taximeter/actors/partition"
	"taximeter/actors/rule"
	"taximeter/actors/trip"
	"taximeter/checkpoint"
	"taximeter/schemas"
)

const t0 schemas.Millis = 1_767_225_600_000

// rows is a State in memory.
type rows struct {
	mu      sync.Mutex // guards content: the test reads what the owner writes
	content map[string][]byte
}

func (r *rows) Get(key []byte) ([]byte, bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b, ok := r.content[string(key)]
	return b, ok, nil
}

func (r *rows) Due(partition.DueTrip, schemas.Millis, int) ([]partition.DueTrip, error) {
	return nil, nil
}

func (r *rows) Apply(changes []partition.Change) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range changes {
		if c.Value == nil {
			delete(r.content, string(c.Key))
		} else {
			r.content[string(c.Key)] = c.Value
		}
	}
	return nil
}

func (r *rows) Snapshot() (host.Snapshot, error) { return nil, nil }

type noSource struct{}

func (noSource) Status([schemas.NumInputs]schemas.Offset) (s [schemas.NumInputs]partition.SourceStatus) {
	return s
}
func (noSource) Hold(schemas.Topic, bool) {}

// outlet acknowledges alerts when the test lets it.
type outlet struct{ lots chan func(schemas.Offset) }

func (o outlet) Alerts(_ []schemas.Alert, done func(schemas.Offset)) { o.lots <- done }

// run is one owner under test.
type run struct {
	t      *testing.T
	system *actor.ActorSystem
	pid    *actor.PID
	stats  atomic.Pointer[host.Stats]
	state  *rows
	outlet outlet
	failed chan error
	offset [schemas.NumInputs]schemas.Offset
}

// expressions panic on demand: the one way for a rule's author to break a trip.
type panicking struct{ trip schemas.TripID }

func (p panicking) Holds(f *rule.Facts, _ schemas.Millis) (bool, error) {
	if f.TripID == p.trip {
		panic("boom")
	}
	return false, nil
}

func newRun(t *testing.T, book *rule.Book) *run {
	state := &rows{content: make(map[string][]byte)}
	r := newRunOn(t, book, state, 0)
	r.state = state
	return r
}

// newRunOn keeps no more than so many trips in memory, once they are clean.
func newRunOn(t *testing.T, book *rule.Book, state host.State, resident int) *run {
	r := &run{t: t, outlet: outlet{make(chan func(schemas.Offset), 8)}, failed: make(chan error, 1)}
	quiet := slog.New(slog.DiscardHandler)
	r.system = actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return quiet }))
	t.Cleanup(r.system.Shutdown)
	spec := host.Spec{Partition: 3, State: state, Source: noSource{}, Outlet: r.outlet, Now: func() schemas.Millis { return t0 }, Log: quiet,
		Failed: func(err error) { r.failed <- err }, IdleSeals: func() int64 { return int64(resident) }, MaxResident: resident}
	spec.Build = func(runner partition.Runner) (*partition.Partition, error) {
		return partition.New(3, partition.Live, partition.DefaultSettings(), book, runner, state, t0), nil
	}
	pid, err := r.system.Root.SpawnNamed(host.NewOwner(spec, &r.stats), "owner")
	if err != nil {
		t.Fatal(err)
	}
	r.pid = pid
	return r
}

func (r *run) send(m any) { r.system.Root.Send(r.pid, m) }

func (r *run) ask(m any) any {
	r.t.Helper()
	a, err := r.system.Root.RequestFuture(r.pid, m, 10*time.Second).Result()
	if err != nil {
		r.t.Fatal(err)
	}
	return a
}

// deliver sends records of rides, one a trip and kind, and waits until the room is given back.
func (r *run) deliver(kind schemas.Kind, at schemas.Millis, trips ...schemas.TripID) {
	r.t.Helper()
	b := &schemas.Batch{Partition: 3}
	for _, id := range trips {
		b.Records = append(b.Records, schemas.Record{Offset: r.offset[schemas.Rides], AppendedAt: schemas.NoTime, Key: []byte(id), Value: []byte("original"),
			Event: schemas.Event{Topic: schemas.Rides, Kind: kind, TripID: id, EventID: schemas.EventID(fmt.Sprintf("%s-%d", kind, at)), At: at}})
		r.offset[schemas.Rides]++
	}
	released := make(chan struct{})
	r.send(&host.Delivery{Pieces: slices.Values([]*schemas.Batch{b}), Release: func() { close(released) }})
	<-released
}

func (r *run) seal(number int64) host.Cut {
	r.t.Helper()
	return r.sealOf(host.SealRequest{Number: checkpoint.SealNumber(number)})
}

func (r *run) sealOf(m host.SealRequest) host.Cut {
	r.t.Helper()
	cuts := make(chan host.Cut, 1)
	m.Done = func(c host.Cut, err error) {
		if err != nil {
			r.t.Error(err)
		}
		cuts <- c
	}
	r.send(&m)
	return <-cuts
}

func TestATripThatPanicsCostsOneEventAndNothingElse(t *testing.T) {
	book, err := rule.NewBook([]schemas.Rule{{RuleID: "x", Version: 1, Kind: "expressao", Active: true, Params: map[string]string{"expressao": "any"}}},
		func(string) (rule.Expression, error) { return panicking{"bad"}, nil })
	if err != nil {
		t.Fatal(err)
	}
	r := newRun(t, book)
	r.deliver(schemas.RideStart, t0, "good", "bad", "other")
	r.deliver(schemas.RideMatch, t0+1, "good", "bad", "other")
	out := r.seal(1).Outbox
	if len(out.DeadLetters) != 2 {
		t.Fatalf("%d dead letters, want the two events of the bad trip", len(out.DeadLetters))
	}
	for _, l := range out.DeadLetters {
		if l.Reason != schemas.DLQPanic || l.TripID != "bad" || string(l.Value) != "original" || !strings.Contains(l.Detail, "boom") || !strings.Contains(l.Detail, "goroutine") {
			t.Errorf("dead letter %+v", l)
		}
	}
	s := r.stats.Load()
	if s.Ledger.Verdicts[schemas.Counted] != 4 || s.Ledger.Verdicts[schemas.DLQPanic] != 2 {
		t.Errorf("verdicts %v", s.Ledger.Verdicts)
	}
	if v, ok := r.ask(&host.ViewQuery{Trip: "other"}).(trip.View); !ok || v.Events.Rides != 2 {
		t.Errorf("another trip after the panic: %+v", v)
	}
}

func TestQuestionsAreServedBetweenBatches(t *testing.T) {
	r := newRun(t, &rule.Book{})
	if err := r.ask(&host.ViewQuery{Trip: "nobody"}); err != host.ErrNoTrip {
		t.Errorf("answer %v", err)
	}
	r.deliver(schemas.RideStart, t0, "a")
	if v, ok := r.ask(&host.ViewQuery{Trip: "a"}).(trip.View); !ok || v.Phase != "em_curso" {
		t.Errorf("view %+v", v)
	}
	if x, ok := r.ask(&host.ExplainQuery{Trip: "a"}).(trip.Explanation); !ok || len(x.Events) != 1 {
		t.Errorf("explanation %+v", x)
	}
}

// With no room at all every trip leaves memory at each seal, its actor ends, and the next
// event brings it back under a new one.
func TestPassivatedTripsComeBack(t *testing.T) {
	r := newRun(t, &rule.Book{})
	for i := range 5 {
		r.deliver(schemas.RideRating, t0+schemas.Millis(i), "a", "b")
		r.seal(int64(i + 1))
		_ = r.ask(&host.ViewQuery{Trip: "none"}) // behind the sweep of so few
		if s := r.stats.Load(); s.Resident != 0 {
			t.Fatalf("%d trips in memory after seal %d", s.Resident, i+1)
		}
	}
	if v, ok := r.ask(&host.ViewQuery{Trip: "b"}).(trip.View); !ok || v.Events.Rides != 5 {
		t.Errorf("view %+v", v)
	}
}

func TestASealWithoutNewsIsNone(t *testing.T) {
	r := newRun(t, &rule.Book{})
	r.deliver(schemas.RideRating, t0, "a")
	if r.seal(1).Unchanged {
		t.Error("the first seal has something to write")
	}
	if c := r.seal(2); c.Unchanged || c.Next != r.seal(3).Next {
		t.Error("the first seal may have got lost on its way: what it held is in none")
	}
	r.send(&host.Committed{Number: 3})
	if !r.seal(4).Unchanged {
		t.Error("nothing happened since the one that is committed")
	}
	if r.sealOf(host.SealRequest{Number: 5, Anyway: func() bool { return true }}).Unchanged {
		t.Error("a seal that is wanted anyway is none")
	}
}

// An owner whose memory is void says so once and answers whoever waits.
func TestAFailedOwnerRefuses(t *testing.T) {
	r := newRun(t, &rule.Book{})
	r.deliver(schemas.RideRating, t0, "a")
	r.seal(1)
	r.state.mu.Lock()
	for k := range r.state.content {
		if strings.HasPrefix(k, "t/") {
			r.state.content[k] = []byte{0, 99} // damaged
		}
	}
	r.state.mu.Unlock()
	r.deliver(schemas.RideRating, t0+1, "a")
	select {
	case err := <-r.failed:
		if !strings.Contains(err.Error(), "partition 3") {
			t.Errorf("failure %v names no partition", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("no failure was reported")
	}
	if err := r.ask(&host.ViewQuery{Trip: "a"}); err != host.ErrOwnerFailed {
		t.Errorf("answer %v", err)
	}
	r.deliver(schemas.RideRating, t0+2, "b") // room is given back all the same
}
