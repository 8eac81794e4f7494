package ingest

import (
	"testing"
	"time"

	"taximeter/schemas"
)

// What lies there when a partition is added is read at once: the fetches of the others wait for
// more records, and it would stand still for two of them.
func TestAnAddedPartitionWaitsForNoOther(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.ProbeEvery = time.Hour }) // but for additions
	w.add(0, [schemas.NumInputs]schemas.Offset{})
	for _, topic := range schemas.Inputs {
		w.produce(w.client, record(topic, 1, topic.String()))
	}
	best := deadline
	for range 10 {
		began := time.Now()
		b := w.next(w.add(1, [schemas.NumInputs]schemas.Offset{}))
		best = min(best, time.Since(began))
		if len(b.all()) != int(schemas.NumInputs) {
			t.Fatalf("read %s, and not what all topics hold", ids(b))
		}
		if err := w.source.Remove(1); err != nil {
			t.Fatal(err)
		}
	}
	if best > fetchMaxWait/2 {
		t.Errorf("read after %s at best, and a fetch of the others may take %s", best, fetchMaxWait)
	}
}

// The quick fetches end when they have brought what there was, also of topics that are silent.
func TestQuickFetchesAreForArrivals(t *testing.T) {
	w := newWorld(t, nil)
	var next [schemas.NumInputs]schemas.Offset
	w.produce(w.client, record(schemas.Rides, 2, "first"))
	inbox := w.add(2, next)
	w.next(inbox).Release()
	left := -1
	for end := time.Now().Add(deadline); left != 0 && time.Now().Before(end); {
		w.on(func() { left = w.source.quick.lanes })
	}
	if left != 0 {
		t.Fatalf("%d lanes are still fetched quickly", left)
	}
	for i := range 3 { // and each is fetched by the other
		for _, topic := range schemas.Inputs {
			w.produce(w.client, record(topic, 2, name(i)))
			b := w.next(inbox)
			if ids(b) != name(i) {
				t.Fatalf("read %s of %s, want %s", ids(b), topic, name(i))
			}
			b.Release()
		}
	}
	if err := w.source.Remove(2); err != nil {
		t.Fatal(err)
	}
	if n := w.source.usual.lanes; n != 0 {
		t.Errorf("%d lanes are fetched for nobody", n)
	}
}

// To fetch again what was fetched here before ends the fetches of all, so it waits for a moment when
// they have only just begun.
func TestWhatComesBackDoesNotInterrupt(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.ProbeEvery = time.Hour })
	var next [schemas.NumInputs]schemas.Offset
	w.produce(w.client, record(schemas.Rides, 1, "a"))
	add := func() {
		t.Helper()
		if err := w.source.add(1, next, func(*Batch) {}); err != nil {
			t.Fatal(err)
		}
		for _, l := range w.source.tasks[1].lanes {
			l.end = 0 // silent: arrived
		}
	}
	by := func() *assignment { return w.source.tasks[1].lanes[schemas.Rides].by }
	w.on(func() {
		add()
		w.source.settle(false)
		if by() != &w.source.usual.assignment {
			t.Error("what comes for the first time waits")
		}
		w.source.remove(1)
		add()
		w.source.settle(false)
		if by() != &w.source.quick.assignment {
			t.Error("what comes back ends the fetches of others")
		}
		w.source.settle(true)
		if by() != &w.source.usual.assignment {
			t.Error("what comes back is left to the quick one")
		}
	})
}
