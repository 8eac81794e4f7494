package kafkaout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
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

// Ended is how many transactions this node has ended in Kafka's place; 0 before there is an output.
func (k *Kafka) Ended() int64 {
	if k == nil {
		return 0
	}
	return k.ended.Load()
}

const (
	askPatience = 5 * time.Second
	// endPatience is how long a coordinator may take to write the markers of a transaction that it has
	// decided; some milliseconds, mostly.
	endPatience = 3 * time.Second
	endPoll     = 10 * time.Millisecond
)

// endLeftOpen ends what earlier holders of the transactional id left open in the partitions that f writes to.
//
// A broker gives a transactional id away only when all of its transactions have ended. Kafka 4.4 may
// believe so too early: a partition that has no leader when its marker is due never gets the marker
// (KAFKA-20734), also that of a commit. What follows there would be ended by, and with, our next
// transaction; so none may begin before. The marker must say what the coordinator logged: another part
// of the transaction may be public long since.
//
// Partitions that nobody answers for stay in f.unended.
func (k *Kafka) endLeftOpen(ctx context.Context, f *fenced) error {
	open, err := k.askUnended(ctx, f)
	if err != nil {
		return fmt.Errorf("open %s: %w", f.id, err)
	}
	for _, d := range open {
		if d.ProducerEpoch >= f.epoch {
			continue // it is whoever has fenced us
		}
		if err := k.end(ctx, f.id, d); err != nil {
			return fmt.Errorf("open %s: Kafka left a transaction of it (producer %d, epoch %d) open in %s/%d since offset %d; see \"A transaction that Kafka did not end\" in operations.md: %w",
				f.id, d.ProducerID, d.ProducerEpoch, d.Topic, d.Partition, d.CurrentTxnStartOffset, err)
		}
	}
	return nil
}

// awaitEnded waits until f's last transaction has ended wherever it wrote: the broker answers a commit
// before. If it does not come to that, opening anew finds out whether it ever will.
func (k *Kafka) awaitEnded(ctx context.Context, f *fenced) error {
	ctx, cancel := context.WithTimeout(ctx, endPatience)
	defer cancel()
	for len(f.unended) > 0 {
		open, err := k.askUnended(ctx, f)
		if err == nil && len(open) == 0 && len(f.unended) == 0 {
			break
		}
		select {
		case <-time.After(endPoll):
		case <-ctx.Done():
			return fmt.Errorf("%s: the transaction before has not ended everywhere: %w", f.id, cmp.Or(err, ctx.Err()))
		}
	}
	return nil
}

// askUnended tells which transactions of f's producer are open where one may be, and lets go of the partitions
// where none is. Who may not ask, or asks a broker before 2.8, believes what brokers promise.
func (k *Kafka) askUnended(ctx context.Context, f *fenced) (open []kadm.DescribedProducer, err error) {
	asking, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	described, err := k.admin.DescribeProducers(asking, f.unended)
	if _, ok := errors.AsType[*kadm.AuthError](err); ok || errors.Is(err, kerr.UnsupportedVersion) {
		f.unended = nil
		return nil, nil
	}
	if ctx.Err() != nil || described == nil {
		return nil, ctx.Err()
	}
	for topic, partitions := range f.unended {
		for p := range partitions {
			answer, ok := described[topic].Partitions[p]
			if !ok || answer.Err != nil {
				continue
			}
			if d, ok := answer.ActiveProducers[f.producer]; ok && d.CurrentTxnStartOffset >= 0 {
				open = append(open, d)
				continue
			}
			delete(partitions, p)
		}
		if len(partitions) == 0 {
			delete(f.unended, topic)
		}
	}
	return open, nil
}

// end writes the marker that is missing.
func (k *Kafka) end(ctx context.Context, id string, d kadm.DescribedProducer) error {
	decided, err := k.decided(ctx, id, d)
	if err != nil {
		return err
	}
	var where kadm.TopicsSet
	where.Add(d.Topic, d.Partition)
	answers, err := k.admin.WriteTxnMarkers(ctx, kadm.TxnMarkers{ProducerID: d.ProducerID, ProducerEpoch: decided.epoch, Commit: decided.commit,
		CoordinatorEpoch: max(decided.coordinator, d.CoordinatorEpoch), Topics: where})
	if err == nil {
		answer, ok := answers[d.ProducerID].Topics[d.Topic].Partitions[d.Partition]
		if err = answer.Err; err == nil && !ok {
			err = errors.New("no answer")
		}
	}
	ended := Ended{id, d.Topic, d.Partition, d.ProducerID, d.ProducerEpoch, d.CurrentTxnStartOffset, decided.commit}
	if err != nil {
		return fmt.Errorf("end %s: %w", ended, err)
	}
	k.ended.Add(1)
	if k.o.Ended != nil {
		k.o.Ended(ended)
	}
	return nil
}

// writes is all partitions of some topics and one partition of others.
func writes(all []string, p int32, one ...string) kadm.TopicsSet {
	set := make(kadm.TopicsSet)
	for _, topic := range all {
		set[topic] = map[int32]struct{}{}
	}
	for _, topic := range one {
		set.Add(topic, p)
	}
	return set
}
