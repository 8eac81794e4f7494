package checkpoint_test

import (
	"context"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"

	"taximeter/checkpoint"
	"taximeter/checkpoint/storetest"
	"taximeter/schemas"
)

// The simulation runs nodes (an owner, a coordinator and a collector each) over a store and
// a Kafka that lose, delay and double-answer, one store call at a time in random order, with
// crashes anywhere. It knows one partition, whose log is 0, 1, 2, ...: the effect of item i
// in run r is "i@r", because a replay need not repeat what an earlier run computed.
//
// What must hold is checked at every manifest, deletion and publication (check*), and in
// the end, once the faults have ceased: what Kafka holds is exactly, in order and once, what
// the state of the tip consists of.

const ns = checkpoint.Namespace("sim")

var limits = checkpoint.Limits{Retain: 3, MaxPending: 2}

// rule names a rule of the protocol that a run leaves out, to see it caught.
type rule string

type world struct {
	rng    *rand.Rand
	broken rule
	mem    *storetest.Memory
	kafka  kafka

	actors   []*actor
	delayed  []func() // effects still to land
	calm     bool     // no more faults
	restores bool

	lives     map[checkpoint.NodeID]int // present life of each node
	offeredBy map[checkpoint.Incarnation]life
	tokens    int
	runs      int
	highest   checkpoint.Manifest // of the chain, as it lies in the store
	violation string
}

type life struct {
	node checkpoint.NodeID
	n    int
}

// actor is a coroutine that stops before each call to the world.
type actor struct {
	life life
	next func() (struct{}, bool)
	stop func()
}

type crashed struct{}

func newWorld(seed uint64, broken rule) *world {
	return &world{rng: rand.New(rand.NewPCG(seed, 7)), broken: broken, mem: storetest.NewMemory(),
		lives: map[checkpoint.NodeID]int{}, offeredBy: map[checkpoint.Incarnation]life{}}
}

func (w *world) fail(format string, args ...any) {
	if w.violation == "" {
		w.violation = fmt.Sprintf(format, args...)
	}
}

func (w *world) chance(percent int) bool { return w.rng.IntN(100) < percent }

// spawn starts a coroutine of the node's present life. act gets a store that pauses before
// each call, and pause itself.
func (w *world) spawn(id checkpoint.NodeID, act func(l life, st checkpoint.Store, pause func())) {
	l := life{id, w.lives[id]}
	a := &actor{life: l}
	a.next, a.stop = iter.Pull(func(yield func(struct{}) bool) {
		defer func() {
			if r := recover(); r != nil {
				if _, ok := r.(crashed); !ok {
					panic(r)
				}
			}
		}()
		pause := func() {
			if !yield(struct{}{}) {
				panic(crashed{})
			}
		}
		st := &storetest.Faults{Store: watched{w.mem, w}, Delayed: func(effect func()) { w.delayed = append(w.delayed, effect) }}
		st.Plan = func(op storetest.Op, _ string) storetest.Fault {
			pause()
			return w.plan(op)
		}
		for {
			act(l, st, pause)
			pause()
		}
	})
	w.actors = append(w.actors, a)
}

func (w *world) plan(op storetest.Op) storetest.Fault {
	if w.calm || !w.chance(12) {
		return storetest.None
	}
	return []storetest.Fault{storetest.Lost, storetest.DropAnswer, storetest.Delay}[w.rng.IntN(3)]
}

// step lets one actor do one call, or lands one delayed effect.
func (w *world) step() {
	n := len(w.actors)
	if len(w.delayed) > 0 {
		n++
	}
	if i := w.rng.IntN(n); i < len(w.actors) {
		w.actors[i].next()
	} else {
		w.land()
	}
}

func (w *world) land() {
	i := w.rng.IntN(len(w.delayed))
	effect := w.delayed[i]
	w.delayed = slices.Delete(w.delayed, i, i+1)
	effect()
}

// crash ends a node's life and begins the next.
func (w *world) crash(id checkpoint.NodeID) {
	w.end(id)
	w.lives[id]++
	w.boot(id)
}

func (w *world) end(id checkpoint.NodeID) {
	w.actors = slices.DeleteFunc(w.actors, func(a *actor) bool {
		if a.life.node != id {
			return false
		}
		a.stop()
		return true
	})
}

// watched checks what lands in the store.
type watched struct {
	*storetest.Memory
	w *world
}

func (s watched) PutIfAbsent(ctx context.Context, key string, body io.ReadSeeker) (checkpoint.Written, error) {
	got, err := s.Memory.PutIfAbsent(ctx, key, body)
	if got.Stored && strings.HasPrefix(key, ns.ManifestPrefix()) {
		s.w.checkManifest(key)
	}
	return got, err
}

func (s watched) Delete(ctx context.Context, key string) error {
	err := s.Memory.Delete(ctx, key)
	s.w.checkFiles(key)
	return err
}

// checkManifest holds the new manifest against the one before.
func (w *world) checkManifest(key string) {
	data, err := checkpoint.ReadAll(ctx, w.mem, key)
	if err != nil {
		panic(err)
	}
	m, err := checkpoint.DecodeManifest(key, data)
	if err != nil {
		w.fail("put of no manifest: %v", err)
		return
	}
	was := w.highest
	if m.Number != was.Number+1 {
		w.fail("manifest %d was created while the tip is %d: the chain forks", m.Number, was.Number)
		return
	}
	w.highest = m
	if m.Number == 1 {
		return
	}
	e, old := m.Entries[0], was.Entries[0]
	switch {
	case e.Epoch < old.Epoch:
		w.fail("manifest %d: epoch falls from %d to %d", m.Number, old.Epoch, e.Epoch)
	case m.Cause == checkpoint.CauseRestore:
	case e.Made == m.Number && e.First != old.Next:
		w.fail("manifest %d: the cut begins at %d, the one before ended at %d", m.Number, e.First[0], old.Next[0])
	case e.Made != m.Number && (e.Made != old.Made || e.Next != old.Next):
		w.fail("manifest %d: an entry of none of ours: made %d", m.Number, e.Made)
	}
	for _, o := range old.Pending {
		if o.Made > w.kafka.marker && !slices.ContainsFunc(e.Pending, func(x checkpoint.OutboxRef) bool { return x.Made == o.Made }) {
			w.fail("manifest %d: outbox %d left pending while the marker is %d", m.Number, o.Made, w.kafka.marker)
		}
	}
	w.checkFiles("")
}

// checkFiles looks for all that the retained manifests cite.
func (w *world) checkFiles(deleted string) {
	present := make(map[string]bool)
	for _, k := range w.mem.Keys() {
		present[k] = true
	}
	for n := w.highest.Oldest; n > 0 && n <= w.highest.Number; n++ {
		data, err := checkpoint.ReadAll(ctx, w.mem, ns.Manifest(n))
		if err != nil {
			w.fail("retained manifest %d: %v", n, err)
			return
		}
		m, err := checkpoint.DecodeManifest(ns.Manifest(n), data)
		if err != nil {
			w.fail("retained manifest %d: %v", n, err)
			return
		}
		for _, f := range cites(m.Entries[0]) {
			if !present[f.Key] {
				w.fail("manifest %d cites %s, which is gone (deleting %s)", n, f.Key, deleted)
			}
		}
	}
}

func cites(e checkpoint.Entry) []checkpoint.File {
	files := slices.Clone(e.Files)
	for _, o := range e.Pending {
		files = append(files, o.File)
	}
	return files
}

// kafka is the output topic with its marker topic and one transactional id.
type kafka struct {
	epoch     int
	published []string
	marker    checkpoint.Number
}

// commit ends a transaction of that producer epoch; false = no clear answer.
func (w *world) commit(epoch int, items []string, marker checkpoint.Number) (ok bool) {
	land := func() {
		if w.kafka.epoch == epoch {
			w.kafka.published = append(w.kafka.published, items...)
			w.kafka.marker = marker
		}
	}
	if !w.calm && w.chance(20) {
		switch w.rng.IntN(3) {
		case 0: // the answer is lost
			land()
		case 1: // it lands later
			w.delayed = append(w.delayed, land)
		}
		return false
	}
	if w.kafka.epoch != epoch {
		return false // fenced
	}
	land()
	return true
}

// finish lets the faults cease and the cluster settle, then compares.
func (w *world) finish() {
	w.calm = true
	for len(w.delayed) > 0 {
		w.land()
	}
	for range 6000 {
		if w.violation != "" {
			return
		}
		if e := w.highest.Entries; len(e) > 0 && e[0].Next[0] > 5 && w.kafka.marker == e[0].Made && w.chance(10) {
			break
		}
		w.step()
	}
	want := w.history(w.highest.Entries[0])
	if w.restores {
		w.checkAfterRestores(len(want))
		return
	}
	got := w.kafka.published
	if w.kafka.marker != w.highest.Entries[0].Made {
		w.fail("no progress: marker %d, entry made by %d, pending %d", w.kafka.marker, w.highest.Entries[0].Made, len(w.highest.Entries[0].Pending))
	}
	if !slices.Equal(got, want) {
		w.fail("published %v\nstate     %v", got, want)
	}
}

// checkAfterRestores: what was published before a restore stays so and is recomputed, so
// only that nothing is missing can be asked here.
func (w *world) checkAfterRestores(n int) {
	have := make(map[string]bool)
	for _, item := range w.kafka.published {
		i, _, _ := strings.Cut(item, "@")
		have[i] = true
	}
	for i := range n {
		if !have[fmt.Sprint(i)] {
			w.fail("item %d was never published", i)
		}
	}
}

// history is the state of an entry: its files in the order of their names.
func (w *world) history(e checkpoint.Entry) []string {
	var items []string
	for _, f := range e.Files {
		data, err := checkpoint.ReadFile(ctx, w.mem, f)
		if err != nil {
			w.fail("state of entry %d: %v", e.Made, err)
			return nil
		}
		items = append(items, strings.Fields(string(data))...)
	}
	return items
}

func offsets(n int) checkpoint.Offsets { return checkpoint.Offsets{schemas.Offset(n), 0, 0} }
