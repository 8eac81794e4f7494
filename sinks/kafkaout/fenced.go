package kafkaout

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/sinks"
)

// errDiscarded is what a client answers that has failed before.
var errDiscarded = errors.New("this client has failed before: open a new one")

// fenced is a client that holds a transactional id. It is used by one goroutine.
//
// Invariant: failed is set by the first error, and from then on nothing is sent. After an
// unclear commit the client library answers an abort with success though the data was
// committed, so there is no way back but a new client and reading the marker.
type fenced struct {
	client   *kgo.Client
	id       string
	producer int64         // of the last transaction, or as given at opening: at its last epoch a commit brings another
	opened   int64         // the producer as given at opening
	epoch    int16         // its own then: all earlier ones are fenced
	timeout  time.Duration // of one transaction
	failed   bool
	unended  unended
	asked    time.Time                // about the silent ones of them
	sent     time.Time                // the last transaction
	strays   []kadm.DescribedProducer // found open at opening: see mayBeFormer
	close    func()                   // once
}

// open takes the transactional id: the broker fences its former holder, and what that had begun is ended in
// the places that are written to, before this returns; where nobody answers, before it is written to. written is
// asked meanwhile.
func (k *Kafka) open(ctx context.Context, id string, timeout time.Duration, written func() ([]place, error)) (*fenced, error) {
	var asking sync.WaitGroup
	var about []place
	var unknown error
	asking.Go(func() { about, unknown = written() })
	f, err := k.fence(ctx, id, timeout)
	asking.Wait()
	if err != nil {
		return nil, err
	}
	if unknown != nil {
		f.Close()
		return nil, fmt.Errorf("open %s: %w", id, unknown)
	}
	for _, at := range about {
		f.unended[at] = nil
	}
	err = k.endLeftOpen(ctx, f, about)
	if f.asked = time.Now(); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// these are places that are known without asking.
func these(all ...place) func() ([]place, error) {
	return func() ([]place, error) { return all, nil }
}

// sender is a client that may take a transactional id, and has not.
func (o Options) sender(id string, timeout time.Duration) (*kgo.Client, error) {
	client, err := kgo.NewClient(o.clientOpts(
		kgo.TransactionalID(id),
		kgo.TransactionTimeout(timeout+brokerGrace),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.ProducerBatchMaxBytes(maxBatchBytes),
		kgo.ProducerLinger(0),
	)...)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", id, err)
	}
	return client, nil
}

func (k *Kafka) fence(ctx context.Context, id string, timeout time.Duration) (*fenced, error) {
	client := k.prepared.take(id)
	if client == nil {
		var err error
		if client, err = k.o.sender(id, timeout); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	producer, epoch, err := client.ProducerID(ctx)
	if err != nil {
		client.Close()
		return nil, fmt.Errorf("open %s: %w", id, told(err))
	}
	return &fenced{client: client, id: id, producer: producer, opened: producer, epoch: epoch, timeout: timeout, unended: make(unended), close: sync.OnceFunc(client.Close)}, nil
}

func (f *fenced) isOurs(d kadm.DescribedProducer) bool {
	return d.ProducerID == f.producer || d.ProducerID == f.opened
}

// youngEpoch is how many openings and transactions after a transactional id has got a producer id, as it does after the
// last epoch of one and when Kafka has let it expire, transactions of the one before are looked for.
const youngEpoch = 1000

// mayBeFormer reports whether, as f opens, a transaction may be one of its id under a producer id that it had before:
// nothing was heard of it for a while.
func (f *fenced) mayBeFormer(d kadm.DescribedProducer, while time.Duration) bool {
	return f.sent.IsZero() && f.epoch < youngEpoch && !f.isOurs(d) && time.Since(time.UnixMilli(d.LastTimestamp)) > while
}

// isEarlier reports whether a transaction is one of an earlier holder: its coordinator works on it no more.
func (f *fenced) isEarlier(d kadm.DescribedProducer) bool {
	return d.ProducerID == f.opened && d.ProducerEpoch < f.epoch
}

// Close lets go of the connection; it does not end a transaction.
func (f *fenced) Close() { f.close() }

// transaction sends the records, in order, all or none.
func (k *Kafka) transaction(ctx context.Context, f *fenced, records []*kgo.Record) error {
	if f.failed {
		return fmt.Errorf("%s: %w", f.id, errDiscarded)
	}
	err := k.awaitEnded(ctx, f, places(records))
	if err == nil {
		err = k.askAgain(ctx, f)
	}
	if err != nil {
		f.failed = true
		return err
	}
	return f.send(ctx, records)
}

func (f *fenced) send(ctx context.Context, records []*kgo.Record) error {
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	f.failed = true
	// Records in flight to a broker that does not answer heed no context, only the end of
	// their client.
	stop := context.AfterFunc(ctx, f.close)
	defer stop()
	if err := f.client.BeginTransaction(); err != nil {
		return fmt.Errorf("%s: begin: %w", f.id, told(err))
	}
	if err := f.client.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return fmt.Errorf("%s: send %d records: %w", f.id, len(records), told(err))
	}
	f.producer = records[0].ProducerID
	if err := f.client.EndTransaction(ctx, kgo.TryCommit); err != nil {
		return fmt.Errorf("%s: commit, outcome unknown: %w", f.id, told(err))
	}
	f.failed, f.sent = false, time.Now()
	for _, at := range places(records) {
		f.unended[at] = nil
	}
	return nil
}

// told marks the errors by which a revoked holder of a transactional id learns so. The
// broker answers the same after it has timed a transaction out itself.
func told(err error) error {
	for _, fence := range []*kerr.Error{kerr.ProducerFenced, kerr.InvalidProducerEpoch, kerr.InvalidTxnState} {
		if errors.Is(err, fence) {
			return fmt.Errorf("%w: %w", sinks.ErrFenced, err)
		}
	}
	return err
}
