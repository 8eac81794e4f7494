package ingest

import (
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/schemas"
	"taximeter/schemas/codec"
)

// fill decodes queued records into the batch, in the order of their append times, until it
// is full or no lane may go on; and reports whether it got any further.
//
// Control records take an offset and no place: Next passes them.
func (s *Source) fill(b *Batch, t *task, now time.Time) (moved bool) {
	b.Partition, b.Records = t.partition, b.Records[:0]
	for len(b.Records) < s.o.BatchRecords {
		l := t.first(now)
		if l == nil {
			break
		}
		record := l.queue[0][0]
		if !record.Attrs.IsControl() {
			r := b.grow()
			if id, known := s.decode(l.topic, record, r, now); !known {
				*r = schemas.Record{}
				b.Records = b.Records[:len(b.Records)-1]
				s.learn(l, id)
				continue
			}
		}
		b.fetched = append(b.fetched, record)
		l.pop()
		moved = true
	}
	for i, l := range t.lanes {
		b.Next[i] = l.next
	}
	return moved
}

// grow appends a zero record.
func (b *Batch) grow() *schemas.Record {
	n := len(b.Records)
	if n < cap(b.Records) {
		b.Records = b.Records[:n+1]
	} else {
		b.Records = append(b.Records, schemas.Record{})
	}
	return &b.Records[n]
}

// decode fills the zero record r; a schema id that must be asked for first comes back
// with known false.
func (s *Source) decode(topic schemas.Topic, in *kgo.Record, r *schemas.Record, now time.Time) (id int, known bool) {
	r.Topic, r.Offset, r.Key, r.Value = topic, schemas.Offset(in.Offset), in.Key, in.Value
	r.AppendedAt = s.appendedAt(in)
	if err := s.o.Decoder.Decode(topic, in.Value, &r.Event); err != nil {
		r.Fault, r.Detail = schemas.DLQUnreadable, err.Error()
		if unknown, ok := errors.AsType[*codec.UnknownSchemaError](err); ok {
			refused, ok := s.refused[schemaKey{topic, unknown.ID}]
			if !ok || now.After(refused.until) {
				return unknown.ID, false
			}
			r.Fault, r.Detail = schemas.DLQUnknownSchema, refused.detail
		}
		return 0, true
	}
	if in.Key == nil { // of a source that has keys: it lies here by chance
		r.Fault = schemas.CheckEvent(&r.Event, []byte{})
		return 0, true
	}
	r.Own = topic == schemas.Payments && r.Kind == schemas.PayBill && wroteBy(in, s.o.Namespace)
	return 0, true
}

// wroteBy reports whether the headers name the namespace.
func wroteBy(in *kgo.Record, namespace string) bool {
	for _, h := range in.Headers {
		if h.Key == schemas.HeaderNamespace {
			return string(h.Value) == namespace
		}
	}
	return false
}

func (s *Source) appendedAt(in *kgo.Record) schemas.Millis {
	const logAppendTime = 1
	kind := in.Attrs.TimestampType()
	at := in.Timestamp.UnixMilli()
	if at < 0 || kind != logAppendTime && s.o.AppendTimes == AppendTimesFromBroker {
		return schemas.NoTime
	}
	return schemas.Millis(at)
}
