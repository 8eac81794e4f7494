package reconcile

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/checkpoint"
	"taximeter/cmd/internal/operator"
	"taximeter/cmd/internal/scan"
	"taximeter/cmd/internal/values"
	"taximeter/schemas"
	"taximeter/schemas/codec"
)

// account is what the topics say of one trip.
type account struct {
	bill     *schemas.Bill // newest public version; nil = none
	payments []schemas.Event
}

// ledger is what the topics say of a partition's trips as of a manifest.
type ledger struct {
	trips map[schemas.TripID]*account
	// since is when the oldest record was appended that the log of payments still holds, if
	// it no longer holds all; NoTime = it does.
	since schemas.Millis
}

func (l *ledger) of(id schemas.TripID) *account {
	a := l.trips[id]
	if a == nil {
		a = &account{}
		l.trips[id] = a
	}
	return a
}

func (a *account) take(b schemas.Bill) {
	if a.bill == nil || b.Version > a.bill.Version {
		a.bill = &b
	}
}

// payments reads bills and payments back.
type payments struct {
	*Options
	events *values.Events
	bills  *codec.Reader[schemas.PaymentRecord]
}

func newPayments(o *Options) *payments {
	return &payments{o, values.NewEvents(o.Registry), codec.NewPaymentReader()}
}

// of reads those of a partition that the manifest's entry knows.
func (x *payments) of(ctx context.Context, p schemas.Partition, e checkpoint.Entry) (*ledger, error) {
	dead, err := x.dead(ctx, p)
	if err != nil {
		return nil, err
	}
	l := &ledger{trips: make(map[schemas.TripID]*account), since: schemas.NoTime}
	oldest := schemas.NoTime
	topic := schemas.Payments.String()
	extents, err := scan.Read(ctx, x.Kafka, scan.Range{Topic: topic, Partitions: []int32{int32(p)}, Since: schemas.NoTime}, func(r *kgo.Record) error {
		if oldest == schemas.NoTime {
			oldest = schemas.Millis(r.Timestamp.UnixMilli())
		}
		if made, ours := x.ours(r); ours {
			if made > x.Tip.Number {
				return nil
			}
			record, err := values.Decode(ctx, x.Registry, x.bills, r.Value)
			if err != nil {
				return err
			}
			if bill, ok := record.Issued(); ok {
				l.of(bill.TripID).take(bill)
			}
			return nil
		}
		if at := schemas.Offset(r.Offset); at >= e.Next[schemas.Payments] || dead[at] {
			return nil
		}
		var event schemas.Event
		v, _, err := x.events.Decode(ctx, schemas.Payments, r.Value, &event)
		if err != nil || v != schemas.Counted || schemas.CheckEvent(&event, append([]byte{}, r.Key...)) != schemas.Counted || event.Kind == schemas.PayBill {
			return err // not taken: dead letters that are not public yet
		}
		a := l.of(event.TripID)
		a.payments = append(a.payments, event)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if extents[int32(p)].First > 0 {
		l.since = oldest
		if oldest == schemas.NoTime {
			l.since = schemas.EndOfTime
		}
	}
	for _, ref := range e.Pending { // committed, and perhaps not public yet
		box, err := operator.ReadOutbox(ctx, x.Store, ref)
		if err != nil {
			return nil, fmt.Errorf("outbox %d: %w", ref.Made, err)
		}
		for _, b := range box.Bills {
			l.of(b.TripID).take(b)
		}
	}
	return l, nil
}

// ours is the manifest that made a record of our namespace.
func (x *payments) ours(r *kgo.Record) (made checkpoint.Number, ours bool) {
	for _, h := range r.Headers {
		switch h.Key {
		case schemas.HeaderNamespace:
			ours = string(h.Value) == string(x.Tip.Namespace)
		case schemas.HeaderCheckpoint:
			n, err := strconv.ParseInt(string(h.Value), 10, 64)
			if err == nil {
				made = checkpoint.Number(n)
			}
		}
	}
	return made, ours
}

// dead are the payments of a partition that our namespace did not take.
func (x *payments) dead(ctx context.Context, p schemas.Partition) (map[schemas.Offset]bool, error) {
	dead := make(map[schemas.Offset]bool)
	prefix := fmt.Sprintf("%s/%d/", schemas.Payments, p)
	_, err := scan.Read(ctx, x.Kafka, scan.Range{Topic: schemas.TopicDLQ, Partitions: []int32{int32(p)}, Since: schemas.NoTime}, func(r *kgo.Record) error {
		if _, ours := x.ours(r); !ours {
			return nil
		}
		for _, h := range r.Headers {
			text, ok := strings.CutPrefix(string(h.Value), prefix)
			if h.Key != schemas.HeaderSource || !ok {
				continue
			}
			at, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return errors.New("its header " + schemas.HeaderSource + " is no source")
			}
			dead[schemas.Offset(at)] = true
		}
		return nil
	})
	return dead, err
}
