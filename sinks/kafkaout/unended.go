package kafkaout

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// Ended is a transaction of an earlier holder of a transactional id that its coordinator had decided and
// forgotten, though a partition still held it open. It was ended there as decided.
type Ended struct {
	TransactionalID string
	Topic           string
	Partition       int32
	ProducerID      int64
	Epoch           int16 // of the records, not of the marker
	Start           int64 // offset of the first of them
	Committed       bool
}

func (e Ended) String() string {
	how := "aborted"
	if e.Committed {
		how = "committed"
	}
	return fmt.Sprintf("a transaction of %s (producer %d, epoch %d) that was open in %s/%d since offset %d, though its coordinator had %s it",
		e.TransactionalID, e.ProducerID, e.Epoch, e.Topic, e.Partition, e.Start, how)
}

// TransactionsEnded is how many this node has ended in Kafka's place.
func (k *Kafka) TransactionsEnded() int64 { return k.ended.Load() }

const (
	// endPatience is how long a coordinator may take to write the markers of a transaction that it has
	// decided; some milliseconds, mostly.
	endPatience = 3 * time.Second
	endPoll     = 10 * time.Millisecond
	// A place that nobody answered for and that no transaction writes to is asked about again, for the sake of
	// its readers, between transactions: at most so often, and for so long.
	againEvery    = 10 * time.Second
	againPatience = time.Second
)

// endLeftOpen ends what earlier holders of the transactional id left open at some places.
//
// A broker gives a transactional id away only when all of its transactions have ended. Kafka 4.4 may
// believe so too early: a partition that has no leader when its marker is due never gets the marker
// (KAFKA-20734), also that of a commit. What follows there would be ended by, and with, our next
// transaction; so none may write there before. The marker must say what the coordinator logged: another part
// of the transaction may be public long since.
//
// Places that nobody answers for stay in f.unended: who writes to them asks again. A transaction that writes
// only elsewhere neither ends what is open there nor needs to know of it.
func (k *Kafka) endLeftOpen(ctx context.Context, f *fenced, about []place) error {
	for _, d := range k.ask(ctx, f, about) {
		if !f.isEarlier(d) {
			continue // our own that ends just now, or of whoever has fenced us
		}
		if err := k.end(ctx, f.id, d); err != nil {
			return errLeftOpen(f.id, d, err)
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return k.endStrays(ctx, f)
}

func errLeftOpen(id string, d kadm.DescribedProducer, err error) error {
	return fmt.Errorf("open %s: Kafka left a transaction of it (producer %d, epoch %d) open in %s/%d since offset %d; see \"A transaction that Kafka did not end\" in operations.md: %w",
		id, d.ProducerID, d.ProducerEpoch, d.Topic, d.Partition, d.CurrentTxnStartOffset, err)
}

// endStrays ends what the transactional id left open under a producer id that it had before. Only the coordinator's log
// tells which are its own; where it does not, they are taken for somebody else's.
func (k *Kafka) endStrays(ctx context.Context, f *fenced) (failed error) {
	f.strays = slices.DeleteFunc(f.strays, func(d kadm.DescribedProducer) bool {
		err := k.end(ctx, f.id, d)
		if errors.Is(err, errUnwritten) {
			failed = errLeftOpen(f.id, d, err)
		}
		return err == nil || errors.Is(err, errUndecided) || permanent(err)
	})
	return failed
}

// awaitEnded waits until no transaction of f's id is open where records are written to: the broker answers a
// commit before. If it does not come to that, opening anew finds out whether it ever will.
func (k *Kafka) awaitEnded(ctx context.Context, f *fenced, written []place) error {
	ctx, cancel := context.WithTimeout(ctx, k.patience)
	defer cancel()
	for {
		due := f.unended.due(written)
		if len(due) == 0 {
			return nil
		}
		err := k.endLeftOpen(ctx, f, due)
		if err != nil && ctx.Err() == nil {
			return err
		}
		if due = f.unended.due(written); len(due) == 0 {
			return nil
		}
		select {
		case <-time.After(endPoll):
		case <-ctx.Done():
			return fmt.Errorf("%s: a transaction before is not known to have ended: %w", f.id, f.unended.why(due))
		}
	}
}

// askAgain asks about the places that nobody has answered for.
func (k *Kafka) askAgain(ctx context.Context, f *fenced) error {
	silent := f.unended.silent()
	if len(silent) == 0 || time.Since(f.asked) < againEvery {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, againPatience)
	defer cancel()
	err := k.endLeftOpen(ctx, f, silent)
	f.asked = time.Now()
	if ctx.Err() != nil {
		return nil // the next time, or when somebody writes there
	}
	return err
}

// settle asks about all places that are left. What does not end there is found here when its sender has nothing more
// to send, and would find out no other way; opening anew ends it. Nobody's answer does no harm.
func (k *Kafka) settle(ctx context.Context, f *fenced) error {
	if f.failed {
		return fmt.Errorf("%s: %w", f.id, errDiscarded)
	}
	ctx, cancel := context.WithTimeout(ctx, againPatience)
	defer cancel()
	for _, d := range k.ask(ctx, f, slices.Collect(maps.Keys(f.unended))) {
		if f.isEarlier(d) || time.Since(f.sent) > k.patience {
			f.failed = true
			return fmt.Errorf("%s: a transaction before has not ended: %w", f.id, f.unended.why([]place{{d.Topic, d.Partition}}))
		}
	}
	return nil
}

// end ends a transaction of an earlier holder as its coordinator decided.
func (k *Kafka) end(ctx context.Context, id string, d kadm.DescribedProducer) error {
	this := suspect{id, place{d.Topic, d.Partition}, d.ProducerID, d.CurrentTxnStartOffset}
	if err := k.verdicts.on(this); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, k.ending)
	defer cancel()
	decided, err := k.decided(ctx, id, d)
	if err == nil {
		err = k.writeMarker(ctx, id, d, decided)
	}
	pause := againEvery
	if permanent(err) || errors.Is(err, errUndecided) {
		pause = verdictPause
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		k.verdicts.pass(this, err, pause)
	}
	return err
}

// errUnwritten is an end that is known and could not be written.
var errUnwritten = errors.New("its end was not written")

// writeMarker writes the marker that is missing.
func (k *Kafka) writeMarker(ctx context.Context, id string, d kadm.DescribedProducer, decided decision) error {
	var where kadm.TopicsSet
	where.Add(d.Topic, d.Partition)
	answers, err := k.courtesy.WriteTxnMarkers(ctx, kadm.TxnMarkers{ProducerID: d.ProducerID, ProducerEpoch: decided.epoch, Commit: decided.commit,
		CoordinatorEpoch: max(decided.coordinator, d.CoordinatorEpoch), Topics: where})
	if err == nil {
		answer, ok := answers[d.ProducerID].Topics[d.Topic].Partitions[d.Partition]
		if err = answer.Err; err == nil && !ok {
			err = errors.New("no answer")
		}
	}
	ended := Ended{id, d.Topic, d.Partition, d.ProducerID, d.ProducerEpoch, d.CurrentTxnStartOffset, decided.commit}
	if err != nil {
		return fmt.Errorf("end %s: %w: %w", ended, errUnwritten, err)
	}
	k.ended.Add(1)
	if k.o.OnEnded != nil {
		k.o.OnEnded(ended)
	}
	return nil
}
