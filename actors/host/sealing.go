package host

import (
	"fmt"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"taximeter/actors/partition"
)

// sealing is the seals of an owner, one at a time. A cut is made in no time. Its rows are written
// behind it, some between every two messages, so that events never wait for all of them; then they
// are applied to the local store beside the owner. Until then the store is behind only in what is in
// memory anyway, because trips leave memory after their changes are applied: they too a few at a time.
type sealing struct {
	stage   stage
	request *SealRequest   // until it is answered
	cut     Cut            // its
	waiting []*SealRequest // came meanwhile
	// pause is the longest wait of events since the last answer; told is what it was then.
	pause, told time.Duration
	writer      sync.WaitGroup // whoever applies
}

// stage is what a seal waits for.
type stage uint8

const (
	resting  stage = iota // there is none
	writing               // its rows
	applying              // the store
	sweeping              // it is answered; trips leave memory
)

// Messages of an owner to itself.
type (
	goOn    struct{} // with the seal that is being written, or with the sweep
	applied struct {
		snapshot Snapshot
		err      error
	}
)

// Of trips, at a stretch: a millisecond or two, if none is in the processor's caches. What a seal
// writes is waited for, a sweep is not, and a trip whose points leave memory costs four times as much.
const (
	writtenAtOnce = 512
	sweptAtOnce   = 128
	// Behind records, trips are written for about as long as the records took: with a full mailbox
	// a seal of small pieces, one behind each batch, would take seconds, and miss its checkpoint.
	tripsPerRecord = 2
)

// seal cuts, or lets the request wait for the seal under way.
func (o *Owner) seal(ctx actor.Context, m *SealRequest) {
	l := &o.sealing
	switch {
	case l.stage == sweeping && m.Last: // a cut ends a sweep; whoever waits comes first all the same
		l.waiting = append(l.waiting, m)
		o.rest(ctx)
		return
	case l.stage != resting:
		l.waiting = append(l.waiting, m)
		return
	case !o.changed && o.cut <= o.committed && (m.Anyway == nil || !m.Anyway()):
		m.Done(Cut{Unchanged: true}, nil)
		return
	}
	began := time.Now()
	o.part.SetTell(m.Tell)
	o.part.SetLayout(m.Layout)
	o.part.Cut(int64(m.Number))
	l.stage, l.request, l.cut = writing, m, Cut{LogNext: o.logNext}
	o.changed = false
	o.cut = m.Number
	l.paused(began)
	ctx.Send(ctx.Self(), goOn{})
}

// goOn does some of the seal's work, and comes again behind the messages that wait.
func (o *Owner) goOn(ctx actor.Context) {
	if o.work(ctx, 0); o.sealing.stage == writing || o.sealing.stage == sweeping {
		ctx.Send(ctx.Self(), goOn{})
	}
}

// work does some of the seal's work, if there is any for this goroutine, behind so many records.
func (o *Owner) work(ctx actor.Context, records int) {
	began := time.Now()
	switch o.sealing.stage {
	case writing:
		if sealed, whole := o.part.Write(max(writtenAtOnce, tripsPerRecord*records)); whole {
			o.apply(ctx, sealed)
		}
		o.sealing.paused(began)
	case sweeping:
		_, over := o.part.SweepSome(sweptAtOnce)
		o.sealing.paused(began)
		if over {
			o.rest(ctx)
		}
	case resting, applying:
	}
}

func (l *sealing) paused(since time.Time) { l.pause = max(l.pause, time.Since(since)) }

// apply gives the seal's changes to the store.
func (o *Owner) apply(ctx actor.Context, sealed partition.Sealed) {
	l := &o.sealing
	changes := sealed.Changes
	sealed.Changes = nil
	l.stage, l.cut.Sealed = applying, sealed
	self, root, state := ctx.Self(), ctx.ActorSystem().Root, o.spec.State
	l.writer.Go(func() {
		var a applied
		if a.err = state.Apply(changes); a.err == nil {
			a.snapshot, a.err = state.Snapshot()
		}
		root.Send(self, &a)
	})
}

// applied answers for a seal, and begins to sweep.
func (o *Owner) applied(ctx actor.Context, m *applied) error {
	l := &o.sealing
	if m.err != nil { // memory and store no longer agree
		return fmt.Errorf("partition %d: seal %d: %w", o.spec.Partition, l.request.Number, m.err)
	}
	began := time.Now()
	o.part.StartSweep(o.spec.IdleSeals(), o.spec.MaxResident)
	done, cut := l.request.Done, l.cut
	cut.Snapshot = m.snapshot
	l.stage, l.request, l.cut = sweeping, nil, Cut{}
	l.told, l.pause = l.pause, 0
	o.publishStats()
	ctx.Send(ctx.Self(), goOn{}) // first: what whoever is answered sends comes behind it
	done(cut, nil)
	l.paused(began)
	return nil
}

// rest lets the next seal begin, if one waits.
func (o *Owner) rest(ctx actor.Context) {
	l := &o.sealing
	waiting := l.waiting
	l.stage, l.waiting = resting, nil
	o.publishStats()
	for _, w := range waiting {
		o.seal(ctx, w)
	}
}

// abandonSeals answers those who wait for a cut.
func (o *Owner) abandonSeals() {
	l := &o.sealing
	if l.request != nil {
		l.waiting = append(l.waiting, l.request)
	}
	for _, m := range l.waiting {
		m.Done(Cut{}, ErrOwnerFailed)
	}
	l.stage, l.request, l.waiting = resting, nil, nil
}
