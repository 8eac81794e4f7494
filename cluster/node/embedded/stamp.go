package embedded

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Layout of a record batch, format v2.
const (
	lengthAt         = 8 // bytes after this field
	crcAt            = 17
	attributesAt     = 21 // the CRC-32C covers all from here on
	firstTimestampAt = 27
	maxTimestampAt   = 35
	recordsAt        = 61

	codecMask = 0b111
)

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	errBatch   = errors.New("malformed record batch")
)

// stamper gives records the broker's own time, as a real broker does for topics of
// message.timestamp.type=LogAppendTime. The one below knows no such topics, and stores
// batches that already say LogAppendTime with a wrong checksum (they are lost on
// restart); so the times are put where a producer's stand, and stay marked CreateTime.
type stamper struct {
	compressor   kgo.Compressor
	decompressor kgo.Decompressor
}

func newStamper() (*stamper, error) {
	c, err := kgo.DefaultCompressor(kgo.SnappyCompression())
	return &stamper{c, kgo.DefaultDecompressor()}, err
}

func (s *stamper) produce(req *kmsg.ProduceRequest, now time.Time) {
	for i := range req.Topics {
		for j := range req.Topics[i].Partitions {
			p := &req.Topics[i].Partitions[j]
			p.Records = s.stamp(p.Records, now.UnixMilli())
		}
	}
}

// stamp returns the batch with its append time set to now, in ms. What is damaged it
// returns as it came: the broker must see the wrong checksum and refuse it.
func (s *stamper) stamp(batch []byte, now int64) []byte {
	if len(batch) < recordsAt || binary.BigEndian.Uint32(batch[crcAt:]) != crc32.Checksum(batch[attributesAt:], castagnoli) {
		return batch
	}
	stamped, err := s.withoutDeltas(batch)
	if err != nil {
		return batch
	}
	batch = stamped
	binary.BigEndian.PutUint64(batch[firstTimestampAt:], uint64(now))
	binary.BigEndian.PutUint64(batch[maxTimestampAt:], uint64(now))
	binary.BigEndian.PutUint32(batch[lengthAt:], uint32(len(batch)-lengthAt-4))
	binary.BigEndian.PutUint32(batch[crcAt:], crc32.Checksum(batch[attributesAt:], castagnoli))
	return batch
}

// withoutDeltas rewrites the records so that all bear the batch's first timestamp.
func (s *stamper) withoutDeltas(batch []byte) ([]byte, error) {
	codec := kgo.CompressionCodecType(batch[attributesAt+1] & codecMask)
	in, err := s.decompressor.Decompress(batch[recordsAt:], codec)
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(in))
	for len(in) > 0 {
		// A record: length, attributes (1 byte), timestamp delta, the rest.
		length, n := binary.Varint(in)
		if n <= 0 || length < 2 || length > int64(len(in)-n) {
			return nil, errBatch
		}
		record := in[n : n+int(length)]
		in = in[n+int(length):]
		_, d := binary.Varint(record[1:])
		if d <= 0 {
			return nil, errBatch
		}
		rest := record[1+d:]
		out = binary.AppendVarint(out, int64(2+len(rest)))
		out = append(out, record[0], 0)
		out = append(out, rest...)
	}
	header := bytes.Clone(batch[:recordsAt])
	if codec != kgo.CodecNone {
		out, codec = s.compressor.Compress(new(bytes.Buffer), out)
		header[attributesAt+1] = header[attributesAt+1]&^codecMask | byte(codec)
	}
	return append(header, out...), nil
}
