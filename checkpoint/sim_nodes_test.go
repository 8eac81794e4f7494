package checkpoint_test

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"taximeter/checkpoint"
	"taximeter/schemas"
)

// Rules that a simulated node can leave out. Each of the protocol's traces needs one.
const (
	everyRule          rule = ""
	noBaseCheck        rule = "a seal commits only on its base"
	noEpochCheck       rule = "a seal commits only in its epoch and incarnation"
	notCumulative      rule = "an outbox starts at the base's cut"
	noNewIncarnation   rule = "every start is a new incarnation"
	markerBeforeFence  rule = "the marker is read after the fence"
	onlyNewestOutbox   rule = "pending is published in the order of made"
	markerIsManifest   rule = "the marker is made, not the manifest's number"
	prunedTooEarly     rule = "an outbox leaves pending only when the marker shows it"
	noOrderWhileUnsure rule = "after an error a new client begins anew"
	manifestsDeleted   rule = "manifest keys are never deleted"
	collectsNewFiles   rule = "what is after the tip's seal is not garbage"
	pendingNotCited    rule = "pending outboxes count as cited"
	onlyTipCites       rule = "every retained manifest counts as citing"
	restoreFromAny     rule = "a restore goes back to a retained manifest only"
)

var nodes = []checkpoint.NodeID{"a", "b", "c"}

func (w *world) boot(id checkpoint.NodeID) {
	w.spawn(id, func(l life, st checkpoint.Store, pause func()) {
		o := &owner{w: w, life: l, store: st, pause: pause, chain: checkpoint.NewChain(st, ns), producer: noProducer}
		for {
			o.turn()
			pause()
		}
	})
	w.spawn(id, func(l life, st checkpoint.Store, pause func()) {
		c := &coordinator{w: w, life: l, store: st, chain: checkpoint.NewChain(st, ns)}
		for {
			c.turn()
			pause()
		}
	})
}

func (w *world) stamp(id checkpoint.NodeID) checkpoint.Stamp {
	w.tokens++
	return checkpoint.Stamp{By: id, Token: fmt.Sprint(w.tokens)}
}

const noProducer = -1

// owner is a partition owner as the protocol wants it, within one life of its node.
type owner struct {
	w     *world
	life  life
	store checkpoint.Store
	pause func()
	chain *checkpoint.Chain

	running     bool
	tip         checkpoint.Manifest
	epoch       checkpoint.Epoch
	incarnation checkpoint.Incarnation
	run         int      // unique to each start, also where the incarnation should be and is not
	items       []string // the state: one effect per item of the log
	sealed      int      // items in the newest seal, committed or not
	last        checkpoint.SealNumber

	producer int // Kafka producer epoch
	marker   checkpoint.Number
}

func (o *owner) mine(m checkpoint.Manifest) bool {
	e := m.Entries[0]
	by := o.w.offeredBy[e.Incarnation]
	return e.Owner == o.life.node && (by == o.life || o.w.broken == noNewIncarnation)
}

func (o *owner) turn() {
	tip, err := o.chain.Tip(ctx)
	if err != nil {
		return
	}
	e := tip.Entries[0]
	if !o.mine(tip) || o.running && (e.Epoch != o.epoch || e.Incarnation != o.incarnation) {
		o.running, o.producer = false, noProducer
	}
	if !o.mine(tip) {
		return
	}
	o.tip = tip
	if !o.running {
		o.start(e)
		return
	}
	switch {
	case o.w.calm && len(o.items) > 40: // let it settle
		o.publish()
	case o.w.chance(40):
		for range 1 + o.w.rng.IntN(3) {
			o.items = append(o.items, fmt.Sprintf("%d@%d", len(o.items), o.run))
		}
	case o.w.chance(50):
		o.seal(e)
	default:
		o.publish()
	}
}

func (o *owner) start(e checkpoint.Entry) {
	var items []string
	for _, f := range e.Files {
		data, err := checkpoint.ReadFile(ctx, o.store, f)
		if err != nil {
			return
		}
		items = append(items, strings.Fields(string(data))...)
	}
	o.running, o.epoch, o.incarnation = true, e.Epoch, e.Incarnation
	o.items, o.sealed, o.last, o.producer = items, len(items), e.Seal, noProducer
	o.marker = 0
	o.w.runs++
	o.run = o.w.runs
}

func (o *owner) seal(e checkpoint.Entry) {
	s := checkpoint.NewSeal(o.tip, 0, o.last)
	from, to := int(e.Next[0]), len(o.items)
	if from > to {
		o.w.fail("the chain is ahead of its owner: %d, %d", from, to)
		return
	}
	if o.w.broken != noEpochCheck && o.w.broken != noNewIncarnation && from == to || limits.Full(e, o.marker) {
		return
	}
	o.last = s.Number
	s.Next, s.Published = offsets(to), o.marker
	if o.w.broken == prunedTooEarly {
		s.Published = e.Made
	}
	begin := from
	if o.w.broken == notCumulative {
		begin = max(from, o.sealed)
	}
	o.sealed = to
	write := func(from int, key func(checkpoint.Place, string) string) (checkpoint.File, error) {
		data := []byte(strings.Join(o.items[from:to], " "))
		return checkpoint.WriteFile(ctx, o.store, data, func(sha string) string { return key(s.Place(), sha) })
	}
	// The state grows by a file, or is compacted into one.
	base := e.Files
	if o.w.chance(20) {
		from, base = 0, nil
	}
	state, err := write(from, ns.Part)
	if err != nil {
		return
	}
	state.Name = fmt.Sprintf("%06d", from)
	s.Files = append(slices.Clip(base), state)
	if s.Outbox.File, err = write(begin, ns.Outbox); err != nil {
		return
	}
	_ = checkpoint.Offer(ctx, o.store, s) // unclear: it may win or not, the chain shows it
}

func (o *owner) publish() {
	if o.producer == noProducer && !o.fence() {
		return
	}
	pending := o.tip.Entries[0].Pending
	if o.w.broken == onlyNewestOutbox && len(pending) > 1 {
		pending = pending[len(pending)-1:]
	}
	for _, ref := range pending {
		mark := ref.Made
		if o.w.broken == markerIsManifest {
			mark = o.tip.Number
			if mark <= o.marker {
				continue
			}
		} else if mark <= o.marker {
			continue
		}
		data, err := checkpoint.ReadFile(ctx, o.store, ref.File)
		if err != nil {
			return
		}
		o.pause()
		if !o.w.commit(o.producer, strings.Fields(string(data)), mark) {
			if o.w.broken != noOrderWhileUnsure {
				o.producer = noProducer
			}
			return
		}
		o.marker = mark
	}
}

// fence is the order for every new Kafka client.
func (o *owner) fence() bool {
	if o.w.broken == markerBeforeFence {
		o.marker = o.w.kafka.marker
		o.pause()
	}
	o.pause()
	o.w.kafka.epoch++
	producer := o.w.kafka.epoch
	o.pause()
	// For outboxes alone this could be left out and nothing is caught: whoever holds the fence
	// publishes what the chain has. It is there for alerts, which lie in no chain.
	tip, err := o.chain.Tip(ctx)
	if err != nil || !o.mine(tip) || tip.Entries[0].Epoch != o.epoch {
		return false // the next turn drops the state
	}
	o.tip = tip
	o.pause()
	if o.w.broken != markerBeforeFence {
		o.marker = o.w.kafka.marker
	}
	o.producer = producer
	return true
}

// coordinator commits what it finds, assigns, restores and collects.
type coordinator struct {
	w     *world
	life  life
	store checkpoint.Store
	chain *checkpoint.Chain
}

func (c *coordinator) turn() {

	tip, err := c.chain.Tip(ctx)
	if err != nil {
		if c.life.node == nodes[0] { // the founder
			_, _, _ = c.chain.Commit(ctx, checkpoint.Genesis(ns, [schemas.NumInputs]string{}, []checkpoint.Offsets{{}}, c.w.stamp(c.life.node)))
		}
		return
	}
	orphan := c.w.broken != noNewIncarnation && c.orphan(tip)
	switch {
	case c.w.restores && !c.w.calm && c.w.chance(2):
		c.restore(ctx, tip)
	case orphan && c.w.chance(50), !c.w.calm && c.w.chance(3):
		c.assign(ctx, tip)
	case c.w.chance(20):
		c.collect(ctx, tip)
	default:
		seals, _ := c.chain.Seals(ctx, tip)
		next, rejected := checkpoint.NextCheckpoint(tip, seals, nil, limits, c.w.stamp(c.life.node))
		if c.w.broken == noBaseCheck || c.w.broken == noEpochCheck {
			next, rejected = c.naive(ctx, tip, next), nil
		}
		if len(rejected) == len(seals) && !c.w.chance(20) {
			return // now and then an empty one: an entry is carried forward
		}
		_, _, _ = c.chain.Commit(ctx, next)
	}
}

// orphan: nobody runs the partition, because its owner was meant in an earlier life.
func (c *coordinator) orphan(tip checkpoint.Manifest) bool {
	e := tip.Entries[0]
	return e.Owner == "" || c.w.offeredBy[e.Incarnation].n != c.w.lives[e.Owner]
}

func (c *coordinator) assign(ctx context.Context, tip checkpoint.Manifest) {
	to := nodes[c.w.rng.IntN(len(nodes))]
	c.w.tokens++
	inc := checkpoint.Incarnation(c.w.tokens)
	c.w.offeredBy[inc] = life{to, c.w.lives[to]}
	if c.w.broken == noNewIncarnation && tip.Entries[0].Owner == to {
		return // it just goes on
	}
	changes := []checkpoint.Change{checkpoint.Join{Node: to}}
	start := checkpoint.Start{Partition: 0, Owner: to, Incarnation: inc}
	if seals, _ := c.chain.Seals(ctx, tip); len(seals) > 0 && c.w.chance(50) {
		start.Last = &seals[c.w.rng.IntN(len(seals))]
	}
	next, err := checkpoint.Assign(tip, limits, c.w.stamp(c.life.node), append(changes, start)...)
	if err != nil {
		return // the seal does not fit any more
	}
	_, _, _ = c.chain.Commit(ctx, next)
}

func (c *coordinator) restore(ctx context.Context, tip checkpoint.Manifest) {
	n := max(tip.Oldest, tip.Number-2)
	if c.w.broken == restoreFromAny {
		n = max(1, tip.Oldest-1)
	}
	old, err := c.chain.Read(ctx, n)
	if err != nil {
		return
	}
	if c.w.broken == restoreFromAny {
		tip.Oldest = min(tip.Oldest, n)
	}
	next, err := checkpoint.Restore(tip, old, limits, c.w.stamp(c.life.node))
	if err != nil {
		c.w.fail("restore: %v", err)
		return
	}
	next.Oldest = max(next.Oldest, c.w.highest.Oldest)
	_, _, _ = c.chain.Commit(ctx, next)
}

// naive takes every seal there is for the partition, with one check left out.
func (c *coordinator) naive(ctx context.Context, tip, next checkpoint.Manifest) checkpoint.Manifest {
	e := tip.Entries[0]
	for info, err := range c.store.List(ctx, ns.SealPrefix(), "") {
		if err != nil {
			return next
		}
		data, err := checkpoint.ReadAll(ctx, c.store, info.Key)
		if err != nil {
			return next
		}
		s, err := checkpoint.DecodeSeal(info.Key, data)
		if err != nil {
			return next
		}
		sameRun, sameBase := s.Epoch == e.Epoch && s.Incarnation == e.Incarnation, s.Base == e.Base()
		if c.w.broken == noBaseCheck && sameRun || c.w.broken == noEpochCheck && sameBase {
			grown := e
			grown.Made, grown.Seal, grown.First, grown.Next, grown.Files = next.Number, s.Number, s.First, s.Next, s.Files
			out := s.Outbox
			out.Made = next.Number
			grown.Pending = append(slices.Clip(e.Unpublished(c.w.kafka.marker)), out)
			next.Entries = []checkpoint.Entry{grown}
		}
	}
	return next
}

func (c *coordinator) collect(ctx context.Context, tip checkpoint.Manifest) {
	switch c.w.broken {
	case manifestsDeleted:
		for n := checkpoint.Number(1); n < tip.Oldest; n++ {
			_ = c.store.Delete(ctx, ns.Manifest(n))
		}
		return
	case collectsNewFiles, pendingNotCited, onlyTipCites:
		retained, err := c.chain.Retained(ctx, tip)
		if err != nil {
			return
		}
		for _, prefix := range ns.CollectedPrefixes() {
			for info, err := range c.store.List(ctx, prefix, "") {
				if err == nil && c.garbage(retained, info.Key) {
					_ = c.store.Delete(ctx, info.Key)
				}
			}
		}
		return
	}
	_, _ = c.chain.Collect(ctx) // a failure leaves work for the next
}

// garbage is Collectable with one rule left out.
func (c *coordinator) garbage(retained []checkpoint.Manifest, key string) bool {
	tip := retained[len(retained)-1]
	if c.w.broken == onlyTipCites {
		retained = retained[len(retained)-1:]
	}
	for _, m := range retained {
		files := cites(m.Entries[0])
		if c.w.broken == pendingNotCited {
			files = m.Entries[0].Files
		}
		for _, f := range files {
			if f.Key == key {
				return false
			}
		}
	}
	pl, ok := ns.PlaceOf(key)
	return ok && (c.w.broken == collectsNewFiles || !pl.After(tip.Entries[0]))
}
