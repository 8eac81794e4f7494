package letters

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/cmd/internal/scan"
	"taximeter/cmd/internal/ui"
	"taximeter/cmd/internal/values"
	"taximeter/internal/topics"
	"taximeter/schemas"
)

// Requeue is one session of sending letters again. Only one can be open: a later one fences
// it, and what it had sent is all or nothing of a batch.
type Requeue struct {
	desk   *Desk
	judge  judge
	client *kgo.Client
	sent   map[string]Sent // by source
}

// Sent is an entry of the log of what was sent again; its key is the letter's source.
type Sent struct {
	At    schemas.Millis `json:"em"`
	By    string         `json:"por"`
	Times int            `json:"vezes"`
}

// transactionalID is one for all: whatever namespace a letter is of, it was one record.
const transactionalID = "taximeter-requeue"

// PreviewRequeue is a session that can plan and never sends; it disturbs no other.
func (d *Desk) PreviewRequeue(ctx context.Context) (*Requeue, error) {
	q := &Requeue{desk: d, judge: judge{values.NewEvents(d.registry)}, sent: make(map[string]Sent)}
	return q, q.readLog(ctx)
}

// OpenRequeue ends other sessions, and only then reads what was sent so far.
func (d *Desk) OpenRequeue(ctx context.Context) (*Requeue, error) {
	client, err := d.kafka.Client(kgo.TransactionalID(transactionalID), kgo.TransactionTimeout(30*time.Second),
		kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)), kgo.RequiredAcks(kgo.AllISRAcks()))
	if err != nil {
		return nil, err
	}
	q := &Requeue{desk: d, judge: judge{values.NewEvents(d.registry)}, client: client, sent: make(map[string]Sent)}
	if err := q.open(ctx); err != nil {
		client.Close()
		return nil, fmt.Errorf("log of what was sent again: %w", err)
	}
	return q, nil
}

func (q *Requeue) open(ctx context.Context) error {
	retention := fmt.Sprint((45 * 24 * time.Hour).Milliseconds()) // longer than the letters'
	_, err := topics.Ensure(ctx, kadm.NewClient(q.client), topics.Topic{Name: schemas.TopicRequeues, Partitions: 1, Replicas: -1,
		Configs: map[string]string{"cleanup.policy": "delete", "retention.ms": retention}})
	if err != nil {
		return err
	}
	if _, _, err := q.client.ProducerID(ctx); err != nil {
		return err
	}
	return q.readLog(ctx)
}

func (q *Requeue) readLog(ctx context.Context) error {
	_, err := scan.Read(ctx, q.desk.kafka, scan.Range{Topic: schemas.TopicRequeues}, func(r *kgo.Record) error {
		var s Sent
		if err := json.Unmarshal(r.Value, &s); err != nil {
			return err
		}
		q.sent[string(r.Key)] = s
		return nil
	})
	if errors.Is(err, scan.ErrNoTopic) {
		return nil // nothing was ever sent again
	}
	return err
}

// Close ends the session.
func (q *Requeue) Close() {
	if q.client != nil {
		q.client.Close()
	}
}

// Plan is what would be done with some letters.
type Plan struct {
	Send []*Letter
	Held []Held
}

// Held is a letter that is not sent, and why.
type Held struct {
	*Letter
	Why string
}

// Repeat says what becomes of letters that were sent again before.
type Repeat uint8

const (
	RefuseRepeats Repeat = iota
	SendRepeats
)

// Plan decides which letters to send. One that would get the same verdict again, since its
// bytes alone decide that, is held.
func (q *Requeue) Plan(ctx context.Context, all []*Letter, repeats Repeat, now schemas.Millis) (p Plan, err error) {
	taken := make(map[string]bool)
	for _, l := range all {
		if taken[l.Source] {
			continue // two namespaces told of one record
		}
		taken[l.Source] = true
		why := ""
		if s, ok := q.sent[l.Source]; ok && repeats == RefuseRepeats {
			why = fmt.Sprintf("was sent again by %s at %s; --again repeats that", s.By, ui.Instant(s.At))
		} else if why, err = q.judge.why(ctx, l, now); err != nil {
			return Plan{}, err
		}
		if why != "" {
			p.Held = append(p.Held, Held{l, why})
		} else {
			p.Send = append(p.Send, l)
		}
	}
	return p, nil
}

// batch bounds a transaction.
const batch = 500

// Send sends letters again, each with its entry in the log in one transaction. The error
// tells how many were sent before it.
func (q *Requeue) Send(ctx context.Context, all []*Letter, by string, now schemas.Millis) error {
	done := 0
	for some := range slices.Chunk(all, batch) {
		if err := q.send(ctx, some, by, now); err != nil {
			return fmt.Errorf("%d of %d letters were sent: %w; run it again: what was sent is not sent twice", done, len(all), err)
		}
		done += len(some)
	}
	return nil
}

func (q *Requeue) send(ctx context.Context, some []*Letter, by string, now schemas.Millis) error {
	if err := q.client.BeginTransaction(); err != nil {
		return err
	}
	records := make([]*kgo.Record, 0, 2*len(some))
	for _, l := range some {
		entry := Sent{now, by, q.sent[l.Source].Times + 1}
		q.sent[l.Source] = entry
		records = append(records,
			&kgo.Record{Topic: *l.Topic, Key: l.record.Key, Value: l.record.Value,
				Headers: []kgo.RecordHeader{{Key: schemas.HeaderRequeued, Value: []byte(l.Source)}}},
			&kgo.Record{Topic: schemas.TopicRequeues, Key: []byte(l.Source), Value: quoted(entry)})
	}
	if err := q.client.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return errors.Join(err, q.client.AbortBufferedRecords(context.WithoutCancel(ctx)), q.client.EndTransaction(context.WithoutCancel(ctx), kgo.TryAbort))
	}
	return q.client.EndTransaction(context.WithoutCancel(ctx), kgo.TryCommit) // else who interrupts it cannot know
}
