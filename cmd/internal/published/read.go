package published

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/cmd/internal/values"
	"taximeter/schemas"
	"taximeter/schemas/codec"
	"taximeter/schemas/registry"
)

// Results are everything on the output topics, in log order per partition.
type Results struct {
	Bills   []schemas.Bill
	Windows []schemas.Window
	Alerts  []schemas.Alert
	Letters []Letter
}

// Letter is a dead letter as its consumers see it.
type Letter struct {
	Key     []byte            `json:"key"`
	Value   []byte            `json:"value"` // base64 in JSON
	Headers map[string]string `json:"headers"`
}

// Result is one of the four.
type Result struct {
	Bill   *schemas.Bill
	Window *schemas.Window
	Alert  *schemas.Alert
	Letter *Letter
}

func (r *Results) add(x Result) error {
	switch {
	case x.Bill != nil:
		r.Bills = append(r.Bills, *x.Bill)
	case x.Window != nil:
		r.Windows = append(r.Windows, *x.Window)
	case x.Alert != nil:
		r.Alerts = append(r.Alerts, *x.Alert)
	case x.Letter != nil:
		r.Letters = append(r.Letters, *x.Letter)
	}
	return nil
}

// WindowKey identifies a window across its versions.
type WindowKey struct {
	Trip  schemas.TripID
	Start schemas.Millis
}

// FinalBills is the bill of each trip that stands.
func (r *Results) FinalBills() map[schemas.TripID]schemas.Bill {
	final := make(map[schemas.TripID]schemas.Bill)
	for _, b := range r.Bills {
		if b.Version > final[b.TripID].Version {
			final[b.TripID] = b
		}
	}
	return final
}

// FinalWindows is each window as it stands.
func (r *Results) FinalWindows() map[WindowKey]schemas.Window {
	final := make(map[WindowKey]schemas.Window)
	for _, w := range r.Windows {
		k := WindowKey{w.TripID, w.Start}
		if w.Version > final[k].Version {
			final[k] = w
		}
	}
	return final
}

// topics are those that results are published on.
var topics = []string{schemas.TopicPayments, schemas.TopicWindows, schemas.TopicAlerts, schemas.TopicDLQ}

// Read reads the output topics from their beginning to their ends as of now.
func Read(ctx context.Context, brokers []string, schemaRegistry *registry.Client) (*Results, error) {
	all := &Results{}
	r, err := newReader(brokers, schemaRegistry, all.add)
	if err != nil {
		return nil, err
	}
	defer r.client.Close()
	for _, topic := range topics {
		if err := r.topic(ctx, topic); err != nil {
			return nil, fmt.Errorf("read %s: %w", topic, err)
		}
	}
	return all, nil
}

// Follow gives what is published from now on, until ctx ends.
func Follow(ctx context.Context, brokers []string, schemaRegistry *registry.Client, results chan<- Result) error {
	r, err := newReader(brokers, schemaRegistry, func(x Result) error {
		select {
		case results <- x:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}, kgo.ConsumeTopics(topics...), kgo.ConsumeResetOffset(kgo.NewOffset().AtEnd()))
	if err != nil {
		return err
	}
	defer r.client.Close()
	for ctx.Err() == nil {
		fetches := r.client.PollFetches(ctx)
		if errs := fetches.Errors(); len(errs) > 0 {
			return fmt.Errorf("follow %s: %w", errs[0].Topic, errs[0].Err)
		}
		for records := fetches.RecordIter(); !records.Done(); {
			if err := r.take(ctx, records.Next()); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// reader decodes results and hands them on.
type reader struct {
	client   *kgo.Client
	registry *registry.Client
	payments *codec.Reader[schemas.PaymentRecord]
	values   *values.Printer
	give     func(Result) error
}

func newReader(brokers []string, schemaRegistry *registry.Client, give func(Result) error, more ...kgo.Opt) (*reader, error) {
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(brokers...), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.KeepControlRecords(), kgo.FetchMaxWait(time.Second)}, more...)...)
	return &reader{client: client, registry: schemaRegistry, payments: codec.NewPaymentReader(), values: values.NewPrinter(schemaRegistry), give: give}, err
}

// take decodes one record; records that are no results give none.
func (r *reader) take(ctx context.Context, rec *kgo.Record) (err error) {
	if rec.Attrs.IsControl() {
		return nil
	}
	var x Result
	switch rec.Topic {
	case schemas.TopicPayments:
		x.Bill, err = r.bill(ctx, rec)
	case schemas.TopicWindows:
		x.Window = &schemas.Window{}
		err = r.decode(ctx, rec.Value, x.Window)
	case schemas.TopicAlerts:
		x.Alert = &schemas.Alert{}
		err = r.decode(ctx, rec.Value, x.Alert)
	case schemas.TopicDLQ:
		x.Letter = letterOf(rec)
	}
	if err != nil {
		return fmt.Errorf("%s partition %d offset %d: %w", rec.Topic, rec.Partition, rec.Offset, err)
	}
	if x == (Result{}) {
		return nil
	}
	return r.give(x)
}

// topic reads one topic to its end as of now.
func (r *reader) topic(ctx context.Context, topic string) error {
	admin := kadm.NewClient(r.client)
	starts, err := admin.ListStartOffsets(ctx, topic)
	if err != nil {
		return err
	}
	ends, err := admin.ListCommittedOffsets(ctx, topic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return err
	}
	from, left := make(map[int32]kgo.Offset), make(map[int32]int64)
	ends.Each(func(e kadm.ListedOffset) {
		if s, _ := starts.Lookup(topic, e.Partition); s.Offset < e.Offset {
			from[e.Partition] = kgo.NewOffset().At(s.Offset)
			left[e.Partition] = e.Offset
		}
	})
	r.client.AddConsumePartitions(map[string]map[int32]kgo.Offset{topic: from})
	defer r.client.PurgeTopicsFromConsuming(topic)
	for len(left) > 0 {
		fetches := r.client.PollFetches(ctx)
		if errs := fetches.Errors(); len(errs) > 0 {
			return errs[0].Err
		}
		for records := fetches.RecordIter(); !records.Done(); {
			rec := records.Next()
			if rec.Offset < left[rec.Partition] {
				if err := r.take(ctx, rec); err != nil {
					return err
				}
			}
			if end, ok := left[rec.Partition]; ok && rec.Offset+1 >= end {
				delete(left, rec.Partition)
			}
		}
	}
	return nil
}

// bill is the bill of a record that says it is one of ours; nil for other payments.
func (r *reader) bill(ctx context.Context, rec *kgo.Record) (*schemas.Bill, error) {
	if !slices.ContainsFunc(rec.Headers, func(h kgo.RecordHeader) bool { return h.Key == schemas.HeaderNamespace }) {
		return nil, nil
	}
	p, err := values.Decode(ctx, r.registry, r.payments, rec.Value)
	if err != nil {
		return nil, err
	}
	b, ok := p.Issued()
	if !ok {
		return nil, nil
	}
	return &b, nil
}

func letterOf(rec *kgo.Record) *Letter {
	l := &Letter{Key: rec.Key, Value: rec.Value, Headers: make(map[string]string)}
	for _, h := range rec.Headers {
		l.Headers[h.Key] = string(h.Value)
	}
	return l
}

// decode reads a value by the names of its fields, which are those of the words' JSON.
func (r *reader) decode(ctx context.Context, value []byte, into any) error {
	text, err := r.values.JSON(ctx, value)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}
