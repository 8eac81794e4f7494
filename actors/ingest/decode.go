package ingest

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/schemas"
	"taximeter/schemas/codec"
)

// fill takes queued records into the batch, in the order of their append times, until it is full
// or no lane may go on; and reports whether it got any further.
func (s *Source) fill(b *Batch, t *task, now time.Time) (moved bool) {
	for b.records < s.o.BatchRecords {
		l := t.first(now)
		if l == nil {
			break
		}
		e := entry{Record: l.queue[0][0], topic: l.topic}
		if !e.Attrs.IsControl() {
			id, known := s.knows(l, e.Value)
			if !known {
				if e.refused = s.refusal(schemaKey{l.topic, id}, now); e.refused == nil {
					s.learn(l, id)
					continue
				}
			}
			b.records++
		}
		b.entries = append(b.entries, e)
		l.pop()
		moved = true
	}
	for i, l := range t.lanes {
		b.Next[i] = l.next
	}
	return moved
}

// knows reports whether the value can be decoded, or is no value of any schema; else id must be
// asked for first.
func (s *Source) knows(l *lane, value []byte) (id int, known bool) {
	id, err := codec.SchemaID(value)
	if err != nil || id == l.schema {
		return id, true
	}
	if known = s.o.Decoder.Knows(l.topic, id); known {
		l.schema = id
	}
	return id, known
}

// pieceRecords are decoded at a time: few enough that their bytes are still near the processor when
// their trips take them.
const pieceRecords = 64

// Pieces are the batch in parts, which must be gone through one after the other, and of one batch of
// a partition at a time: each is overwritten by the next. Control records take an offset and no
// place: the last piece's Next passes them.
func (b *Batch) Pieces(yield func(*schemas.Batch) bool) {
	t, s := b.home, b.home.source
	p := &t.piece
	*p = schemas.Batch{Partition: t.partition, Records: p.Records[:0]}
	for i := range b.entries {
		e := &b.entries[i]
		if e.Attrs.IsControl() {
			continue
		}
		if len(p.Records) == pieceRecords {
			if !yield(p) {
				return
			}
			p.Records = p.Records[:0]
		}
		p.Records = slices.Grow(p.Records, 1)[:len(p.Records)+1]
		s.decode(e, &p.Records[len(p.Records)-1])
	}
	p.Next = b.Next
	yield(p)
}

// decode overwrites r.
func (s *Source) decode(e *entry, r *schemas.Record) {
	r.Fault, r.Detail, r.Own = schemas.Counted, "", false
	r.Offset, r.Key, r.Value = schemas.Offset(e.Offset), e.Key, e.Value
	r.AppendedAt = s.appendedAt(e.Record)
	if e.refused != nil {
		r.Event = schemas.Event{Topic: e.topic}
		r.Fault, r.Detail = schemas.DLQUnknownSchema, e.refused.detail
		return
	}
	if err := s.o.Decoder.Decode(e.topic, e.Value, &r.Event); err != nil {
		r.Fault, r.Detail = schemas.DLQUnreadable, err.Error()
		return
	}
	if e.Key == nil { // of a source that has keys: it lies here by chance
		r.Fault = schemas.CheckEvent(&r.Event, []byte{})
		return
	}
	r.Own = e.topic == schemas.Payments && r.Kind == schemas.PayBill && wroteBy(e.Record, s.o.Namespace)
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
