package kafkaout

import (
	"fmt"
	"strconv"

	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/checkpoint"
	"taximeter/schemas"
	"taximeter/schemas/codec"
)

const (
	// maxBatchBytes is below the least limit of brokers' defaults.
	maxBatchBytes = 1_000_012
	// Of a dead letter, together well below maxBatchBytes.
	maxValue  = 900_000
	maxKey    = 16_000
	maxDetail = 8_000

	// roomBytes is how much of the results lies in one piece.
	roomBytes = 64 << 10
)

// records are the outbox as it goes out: the same bytes for the same arguments.
func (o Options) records(p schemas.Partition, made checkpoint.Number, out *schemas.Outbox) ([]*kgo.Record, error) {
	all := make([]*kgo.Record, 0, len(out.Bills)+len(out.Windows)+len(out.DeadLetters)+1)
	stamp := []kgo.RecordHeader{
		header(schemas.HeaderNamespace, o.Namespace),
		header(schemas.HeaderCheckpoint, strconv.FormatInt(int64(made), 10)),
	}
	// The results lie in few objects: they go out, and are let go, together.
	results := make([]kgo.Record, 0, len(out.Bills)+len(out.Windows))
	var room []byte
	keep := func(topic string, key schemas.TripID, value []byte) {
		if len(key)+len(value) > cap(room)-len(room) {
			room = make([]byte, 0, max(roomBytes, len(key)+len(value)))
		}
		at := len(room)
		room = append(append(room, key...), value...)
		results = append(results, kgo.Record{Topic: topic, Partition: int32(p), Headers: stamp,
			Key: room[at : at+len(key) : at+len(key)], Value: room[at+len(key) : len(room) : len(room)]})
		all = append(all, &results[len(results)-1])
	}
	var value []byte
	var err error
	for i := range out.Bills {
		b := &out.Bills[i]
		if value, err = codec.AppendBill(value[:0], o.Schemas.Payment, b, int64(made)); err != nil {
			return nil, fmt.Errorf("bill %d of trip %s: %w", b.Version, b.TripID, err)
		}
		keep(schemas.TopicPayments, b.TripID, value)
	}
	for i := range out.Windows {
		w := &out.Windows[i]
		if value, err = codec.AppendWindow(value[:0], o.Schemas.Window, w, int64(made)); err != nil {
			return nil, fmt.Errorf("window %s of trip %s: %w", w.Start, w.TripID, err)
		}
		keep(schemas.TopicWindows, w.TripID, value)
	}
	for i := range out.DeadLetters {
		all = append(all, deadLetter(p, &out.DeadLetters[i], stamp))
	}
	return all, nil
}

// deadLetter carries the original bytes, or as much of them as a record holds: the source
// header tells where the whole lies.
func deadLetter(p schemas.Partition, d *schemas.DeadLetter, stamp []kgo.RecordHeader) *kgo.Record {
	headers := append(stamp[:len(stamp):len(stamp)],
		header(schemas.HeaderReason, d.Reason.String()),
		header(schemas.HeaderDetail, d.Detail[:min(len(d.Detail), maxDetail)]),
		header(schemas.HeaderSource, fmt.Sprintf("%s/%d/%d", d.Topic, d.Partition, d.Offset)))
	if d.AppendedAt != schemas.NoTime {
		headers = append(headers, header(schemas.HeaderAppendedAt, strconv.FormatInt(int64(d.AppendedAt), 10)))
	}
	key, value := d.Key, d.Value
	if len(key) > maxKey || len(value) > maxValue {
		headers = append(headers, header(schemas.HeaderTruncated, fmt.Sprintf("key=%d value=%d", len(key), len(value))))
		key, value = key[:min(len(key), maxKey)], value[:min(len(value), maxValue)]
	}
	return &kgo.Record{Topic: schemas.TopicDLQ, Partition: int32(p), Key: key, Value: value, Headers: headers}
}

func header(key, value string) kgo.RecordHeader {
	return kgo.RecordHeader{Key: key, Value: []byte(value)}
}
