package published

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/cmd/internal/scan"
	"taximeter/cmd/internal/values"
	"taximeter/internal/access"
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
func Read(ctx context.Context, kafka access.Kafka, schemaRegistry *registry.Client) (*Results, error) {
	all := &Results{}
	r := newReader(schemaRegistry, all.add)
	for _, topic := range topics {
		_, err := scan.Read(ctx, kafka, scan.Range{Topic: topic, Since: schemas.NoTime}, func(rec *kgo.Record) error { return r.take(ctx, rec) })
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Follow gives what is published from now on, until ctx ends.
func Follow(ctx context.Context, kafka access.Kafka, schemaRegistry *registry.Client, results chan<- Result) error {
	r := newReader(schemaRegistry, func(x Result) error {
		select {
		case results <- x:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	client, err := kafka.Client(kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.FetchMaxWait(time.Second),
		kgo.ConsumeTopics(topics...), kgo.ConsumeResetOffset(kgo.NewOffset().AtEnd()))
	if err != nil {
		return err
	}
	defer client.Close()
	for ctx.Err() == nil {
		fetches := client.PollFetches(ctx)
		if errs := fetches.Errors(); len(errs) > 0 {
			return fmt.Errorf("follow %s: %w", errs[0].Topic, errs[0].Err)
		}
		for records := fetches.RecordIter(); !records.Done(); {
			rec := records.Next()
			if err := r.take(ctx, rec); err != nil {
				return fmt.Errorf("follow %s/%d/%d: %w", rec.Topic, rec.Partition, rec.Offset, err)
			}
		}
	}
	return ctx.Err()
}

// reader decodes results and hands them on.
type reader struct {
	registry *registry.Client
	payments *codec.Reader[schemas.PaymentRecord]
	values   *values.Printer
	give     func(Result) error
}

func newReader(schemaRegistry *registry.Client, give func(Result) error) *reader {
	return &reader{registry: schemaRegistry, payments: codec.NewPaymentReader(), values: values.NewPrinter(schemaRegistry), give: give}
}

// take decodes one record; records that are no results give none.
func (r *reader) take(ctx context.Context, rec *kgo.Record) (err error) {
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
		return err
	}
	if x == (Result{}) {
		return nil
	}
	return r.give(x)
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
