package operator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"time"

	"taximeter/checkpoint"
	"taximeter/schemas"
)

// keepRetained leaves what is retained as the nodes' configuration has made it.
var keepRetained = checkpoint.Limits{Retain: 1 << 40}

// NewAudit describes a change before it is made: by whom, when, and with which token.
func NewAudit(command, reason string) checkpoint.Audit {
	who, host := "unknown", "unknown"
	if u, err := user.Current(); err == nil {
		who = u.Username
	}
	if h, err := os.Hostname(); err == nil {
		host = h
	}
	now := time.Now()
	// Sorts by time; the process id keeps two operators of one instant apart.
	token := now.UTC().Format("20060102T150405.000000000Z") + "-" + strconv.Itoa(os.Getpid())
	return checkpoint.Audit{Token: token, At: schemas.Millis(now.UnixMilli()), By: checkpoint.NodeID(who + "@" + host), Command: command, Reason: reason}
}

// DamagedOutboxError is pending outboxes that a restore would have to give up.
type DamagedOutboxError struct{ Faults []error }

func (e *DamagedOutboxError) Error() string {
	return fmt.Sprintf("%d outboxes wait for publication and cannot be read: %v", len(e.Faults), errors.Join(e.Faults...))
}

// Damaged says what a restore does about pending outboxes that cannot be read.
type Damaged uint8

const (
	// RefuseDamaged is an error: they may come back with a backup.
	RefuseDamaged Damaged = iota
	// GiveUpDamaged computes what they held again.
	GiveUpDamaged
)

// Restore takes the namespace back to manifest n.
func Restore(ctx context.Context, st checkpoint.Store, chain *checkpoint.Chain, n checkpoint.Number, damaged Damaged, a checkpoint.Audit) (checkpoint.Manifest, error) {
	return chain.Operate(ctx, a, func(tip checkpoint.Manifest, by checkpoint.Stamp) (checkpoint.Manifest, error) {
		old, err := Read(ctx, chain, n)
		if err != nil {
			return checkpoint.Manifest{}, err
		}
		lost, faults := unreadable(ctx, st, tip)
		if err := ctx.Err(); err != nil {
			return checkpoint.Manifest{}, err
		}
		if len(lost) > 0 && damaged == RefuseDamaged {
			return checkpoint.Manifest{}, &DamagedOutboxError{faults}
		}
		return checkpoint.Restore(tip, old, keepRetained, by, lost...)
	})
}

// unreadable are the tip's pending outboxes that cannot be read.
func unreadable(ctx context.Context, st checkpoint.Store, tip checkpoint.Manifest) (keys []string, faults []error) {
	for _, e := range tip.Entries {
		for _, ref := range e.Pending {
			if _, err := ReadOutbox(ctx, st, ref); err != nil {
				keys, faults = append(keys, ref.File.Key), append(faults, err)
			}
		}
	}
	return keys, faults
}

// Move is an offset that a partition is to go on at.
type Move struct {
	Partition schemas.Partition `json:"particao"`
	From      schemas.Offset    `json:"de"`
	To        schemas.Offset    `json:"para"`
	Skipped   int64             `json:"pulados"` // negative: read again
}

// MoveOffsets lets partitions go on at other offsets of a topic. recreated is the topic's
// new id, if it was deleted and created again; "" = it is the one that the chain knows.
func MoveOffsets(ctx context.Context, chain *checkpoint.Chain, topic schemas.Topic, moves []Move, recreated string, a checkpoint.Audit) (checkpoint.Manifest, error) {
	return chain.Operate(ctx, a, func(tip checkpoint.Manifest, by checkpoint.Stamp) (checkpoint.Manifest, error) {
		var changes []checkpoint.Change
		for _, m := range moves {
			if e, ok := tip.Entry(m.Partition); ok && e.Next[topic] != m.From {
				return checkpoint.Manifest{}, fmt.Errorf("partition %d has gone on to offset %d of %s meanwhile: it is not stuck at %d; look again",
					m.Partition, e.Next[topic], topic, m.From)
			}
			changes = append(changes, checkpoint.SetOffset{Partition: m.Partition, Topic: topic, Next: m.To})
		}
		if recreated != "" {
			changes = append(changes, checkpoint.AdoptTopic{Topic: topic, ID: recreated})
		}
		return checkpoint.Assign(tip, keepRetained, by, changes...)
	})
}

// ForgetSink lets no outbox wait any more for a sink.
func ForgetSink(ctx context.Context, chain *checkpoint.Chain, name string, a checkpoint.Audit) (checkpoint.Manifest, error) {
	return chain.Operate(ctx, a, func(tip checkpoint.Manifest, by checkpoint.Stamp) (checkpoint.Manifest, error) {
		return checkpoint.Assign(tip, keepRetained, by, checkpoint.Forget{Name: name})
	})
}
