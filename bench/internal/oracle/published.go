package oracle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/schemas"
	"taximeter/schemas/codec"
	"taximeter/schemas/registry"
)

// Published reads what stands on the output topics, as any consumer would: read_committed,
// decoded through the registry. Events of pagamentos.eventos before the given ends were
// there before the processor.
func Published(ctx context.Context, brokers []string, registryURL string, before map[string]map[int32]int64) (*Results, error) {
	d, err := NewDecoder(registryURL)
	if err != nil {
		return nil, err
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(), kgo.FetchMaxWait(time.Second))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	topics := []string{schemas.TopicPayments, schemas.TopicWindows}
	ends, err := settledEnds(ctx, kadm.NewClient(client), topics)
	if err != nil {
		return nil, fmt.Errorf("ends of the output topics: %w", err)
	}
	left, from := 0, map[string]map[int32]kgo.Offset{}
	ends.Each(func(o kadm.ListedOffset) {
		if start := before[o.Topic][o.Partition]; start < o.Offset {
			if from[o.Topic] == nil {
				from[o.Topic] = map[int32]kgo.Offset{}
			}
			from[o.Topic][o.Partition] = kgo.NewOffset().At(start)
			left++
		}
	})
	client.AddConsumePartitions(from)
	r := newResults()
	for left > 0 {
		fetches := client.PollFetches(ctx)
		if errs := fetches.Errors(); len(errs) > 0 {
			return nil, fmt.Errorf("read %s: %w", errs[0].Topic, errs[0].Err)
		}
		for records := fetches.RecordIter(); !records.Done(); {
			rec := records.Next()
			if end, _ := ends.Lookup(rec.Topic, rec.Partition); rec.Offset == end.Offset-1 {
				left--
			}
			if rec.Attrs.IsControl() {
				continue
			}
			if err := d.take(ctx, rec, r); err != nil {
				return nil, fmt.Errorf("%s partition %d offset %d: %w", rec.Topic, rec.Partition, rec.Offset, err)
			}
		}
	}
	return r, nil
}

// settledEnds waits until no transaction is open: a broker answers a commit when it is
// decided, and lets readers see it a little later.
func settledEnds(ctx context.Context, admin *kadm.Client, topics []string) (kadm.ListedOffsets, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		ends, err := admin.ListEndOffsets(ctx, topics...)
		if err == nil {
			err = ends.Error()
		}
		if err != nil {
			return nil, err
		}
		committed, err := admin.ListCommittedOffsets(ctx, topics...)
		if err == nil {
			err = committed.Error()
		}
		if err != nil {
			return nil, err
		}
		open := 0
		ends.Each(func(end kadm.ListedOffset) {
			if c, _ := committed.Lookup(end.Topic, end.Partition); c.Offset < end.Offset {
				open++
			}
		})
		if open == 0 {
			return committed, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%d partitions have an open transaction: %w", open, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Decoder reads published records. It belongs to one goroutine.
type Decoder struct {
	registry *registry.Client
	payments *codec.Reader[schemas.PaymentRecord]
	printers map[int]*codec.Printer
}

// NewDecoder asks the registry when it must.
func NewDecoder(registryURL string) (*Decoder, error) {
	r, err := registry.NewClient(registry.ClientConfig{URLs: []string{registryURL}})
	return &Decoder{registry: r, payments: codec.NewPaymentReader(), printers: make(map[int]*codec.Printer)}, err
}

func (d *Decoder) take(ctx context.Context, rec *kgo.Record, r *Results) error {
	if rec.Topic == schemas.TopicPayments {
		b, err := d.Bill(ctx, rec.Value)
		if err == nil && b != nil {
			r.bill(*b)
		}
		return err
	}
	var w schemas.Window
	if err := d.JSON(ctx, rec.Value, &w); err != nil {
		return err
	}
	r.window(w)
	return nil
}

// Bill is the bill of a payment's record; nil when it is another payment.
func (d *Decoder) Bill(ctx context.Context, value []byte) (*schemas.Bill, error) {
	p, err := d.payments.Decode(value)
	if unknown, ok := errors.AsType[*codec.UnknownSchemaError](err); ok {
		schema, err := d.registry.SchemaByID(ctx, unknown.ID)
		if err != nil {
			return nil, err
		}
		if err := d.payments.Learn(unknown.ID, schema); err != nil {
			return nil, err
		}
		p, err = d.payments.Decode(value)
		if err != nil {
			return nil, err
		}
	} else if err != nil {
		return nil, err
	}
	if p.Bill == nil {
		return nil, nil
	}
	b := &schemas.Bill{TripID: p.TripID, EventID: p.EventID, Version: int(p.Bill.Version), Amount: p.Amount, Currency: p.Currency,
		DistanceMM: p.Bill.DistanceMM, DurationS: p.Bill.DurationS, TariffID: p.Bill.TariffID, Region: p.Bill.Region, Category: p.Bill.Category,
		Multiplier: p.Bill.Multiplier, Start: p.Bill.Start, End: p.Bill.End, Points: int(p.Bill.Points), Rejected: int(p.Bill.Rejected)}
	if p.Bill.Motive != nil {
		b.Motive = schemas.Motive(*p.Bill.Motive)
	}
	return b, nil
}

// JSON reads a value by the names of its fields, which are those of the words' JSON.
func (d *Decoder) JSON(ctx context.Context, value []byte, into any) error {
	id, err := codec.SchemaID(value)
	if err != nil {
		return err
	}
	p := d.printers[id]
	if p == nil {
		schema, err := d.registry.SchemaByID(ctx, id)
		if err != nil {
			return err
		}
		if p, err = codec.NewPrinter(schema); err != nil {
			return err
		}
		d.printers[id] = p
	}
	text, err := p.Append(nil, value)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}
