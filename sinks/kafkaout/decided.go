package kafkaout

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode/utf16"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"taximeter/schemas"
)

// coordinatorLog is where transaction coordinators keep what they decide, before they let anybody know.
const coordinatorLog = "__transaction_state"

// errUndecided is a transaction whose end cannot be known any more.
var errUndecided = errors.New("the coordinator's log does not tell how it ended")

// decision is the end of a transaction as its coordinator logged it.
type decision struct {
	commit      bool
	epoch       int16 // of the producer in the marker
	coordinator int32 // the coordinator's own epoch
}

// decided looks up in its coordinator's log how a transaction ended that is still open in a partition.
func (k *Kafka) decided(ctx context.Context, id string, d kadm.DescribedProducer) (decision, error) {
	p, err := k.coordinatorPartition(ctx, id)
	if err != nil {
		return decision{}, err
	}
	since := max(d.LastTimestamp-clockMargin.Milliseconds(), 0)
	from, err := k.offset(ctx, coordinatorLog, p, since)
	if err != nil {
		return decision{}, fmt.Errorf("read the coordinator's log: %w", err)
	}
	s, key := search{of: d}, (&kmsg.TxnMetadataKey{TransactionalID: id}).AppendTo(nil)
	_, err = k.read(ctx, coordinatorLog, p, from, func(r *kgo.Record) error {
		if !bytes.Equal(r.Key, key) {
			return nil
		}
		var value *kmsg.TxnMetadataValue
		if r.Value != nil {
			value = new(kmsg.TxnMetadataValue)
			if err := value.ReadFrom(r.Value); err != nil {
				return fmt.Errorf("coordinator's state of %s: %w", id, err)
			}
		}
		s.take(value, r.LeaderEpoch)
		return nil
	})
	if err == nil && s.found == nil {
		err = fmt.Errorf("%w: %s/%d since offset %d", errUndecided, coordinatorLog, p, from)
	}
	if err != nil {
		return decision{}, err
	}
	return *s.found, nil
}

// search goes through the states of a transactional id in their order.
//
// A decision is believed only where its neighbour says that the transaction was this one: the state before it is
// open with the epoch of the partition's records, both hold the partition, and the decision has raised the epoch.
// Then the marker cannot be there yet: it would have raised the epoch in the partition. Clients before
// transactions' version 2 commit without raising it, and an open record may be one that came late.
type search struct {
	of    kadm.DescribedProducer
	open  bool // the state before was open with this transaction
	found *decision
}

func (s *search) take(v *kmsg.TxnMetadataValue, coordinator int32) {
	was := s.open
	s.open = false
	if v == nil || v.ProducerID != s.of.ProducerID || !slices.ContainsFunc(v.Topics, func(t kmsg.TxnMetadataValueTopic) bool {
		return t.Topic == s.of.Topic && slices.Contains(t.Partitions, s.of.Partition)
	}) {
		return
	}
	switch v.State {
	case kmsg.TransactionStateOngoing:
		s.open = v.ProducerEpoch == s.of.ProducerEpoch
	case kmsg.TransactionStatePrepareCommit, kmsg.TransactionStatePrepareAbort:
		if was && v.ProducerEpoch > s.of.ProducerEpoch {
			s.found = &decision{v.State == kmsg.TransactionStatePrepareCommit, v.ProducerEpoch, coordinator}
		}
	}
}

// coordinatorPartition is the partition of its coordinator's log that has a transactional id.
func (k *Kafka) coordinatorPartition(ctx context.Context, id string) (schemas.Partition, error) {
	n, err := k.partitions(ctx, coordinatorLog)
	if err != nil {
		return 0, err
	}
	return schemas.Partition(coordinatorHash(id) % n), nil
}

// coordinatorHash is Java's hash of a text without its sign, as Kafka takes it.
func coordinatorHash(s string) (h int32) {
	for _, unit := range utf16.Encode([]rune(s)) {
		h = 31*h + int32(unit)
	}
	switch {
	case h == math.MinInt32:
		return 0
	case h < 0:
		return -h
	}
	return h
}
