package ingest

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/schemas"
)

func TestAShelfGivesBackWhatFits(t *testing.T) {
	s := shelf[byte]{most: 1 << 20}
	for n := 1; n < 300_000; n += 1 + n/7 {
		p := s.get(n)
		if len(p) < n || cap(p) > n+n/4+8 {
			t.Fatalf("%d bytes wanted, got %d of %d", n, len(p), cap(p))
		}
		p[0] = 1
		s.put(p)
		if again := s.get(n); again[0] != 1 {
			t.Fatalf("a slice of %d was made anew though one lay there", n)
		}
	}
}

func TestAShelfLendsWhatIsALittleTooLarge(t *testing.T) {
	s := shelf[byte]{most: 1000}
	s.put(make([]byte, 96))
	if p := s.get(40); cap(p) == 96 {
		t.Error("more than twice what is needed is lent")
	}
	if p := s.get(60); cap(p) != 96 || s.held != 0 {
		t.Errorf("%d bytes are made anew, %d lie there", cap(p), s.held)
	}
}

func TestAShelfHoldsNoMoreThanItMay(t *testing.T) {
	s := shelf[byte]{most: 1000}
	for range 20 {
		s.put(make([]byte, 300))
	}
	if s.held != 900 {
		t.Errorf("%d bytes held, want the three slices that fit into %d", s.held, s.most)
	}
}

func TestBuffersAreAsLargeAsBatchesBecome(t *testing.T) {
	b := newBuffers()
	read := func(compressed, uncompressed int) {
		b.OnFetchBatchRead(kgo.BrokerMetadata{}, "", 0, kgo.FetchBatchMetrics{CompressedBytes: compressed, UncompressedBytes: uncompressed})
	}
	room := func(compressed int) int { return cap(b.GetDecompressBytes(make([]byte, compressed), kgo.CodecLz4)) }
	for range 1000 {
		read(10_000, 20_000)
	}
	if got := room(10_000); got < 20_000+spare || got > 30_000 {
		t.Errorf("%d bytes for batches that double, want little more than 20000", got)
	}
	read(10_000, 70_000)
	if got := room(10_000); got < 70_000+spare {
		t.Errorf("%d bytes after a batch that took 70000", got)
	}
	read(10_000, 10_000_000)
	if got := room(10_000); got > 8*10_000*5/4+2*spare {
		t.Errorf("%d bytes because one batch was mostly zeros", got)
	}
}

// Every record of a batch comes back, control records and unreadable ones as well: kgo
// clears the bytes of a batch when the last one has.
func TestReleaseGivesTheBytesBack(t *testing.T) {
	for name, codec := range map[string]kgo.CompressionCodec{"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(), "snappy": kgo.SnappyCompression()} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(o *Options) { o.BatchRecords = 4 })
			tx := w.newClient(kgo.TransactionalID("tx"), kgo.ProducerBatchCompression(codec))
			long := strings.Repeat("x", 5000)
			w.transaction(tx, kgo.TryCommit, record(schemas.Telemetry, 1, "e1"+long), record(schemas.Telemetry, 1, "bad"+long), record(schemas.Telemetry, 1, "e3"+long))
			w.transaction(tx, kgo.TryCommit, record(schemas.Telemetry, 1, "e4"+long), record(schemas.Telemetry, 1, "e5"+long), record(schemas.Telemetry, 1, "e6"+long))
			inbox := w.add(1, [schemas.NumInputs]schemas.Offset{})
			var kept [][]byte
			var batches []*Batch
			for n := 0; n < 6; {
				b := w.next(inbox)
				for _, r := range b.all() {
					kept = append(kept, r.Value)
				}
				n += len(b.all())
				batches = append(batches, b)
			}
			for _, b := range batches {
				b.Release()
			}
			for i, value := range kept {
				if strings.Trim(string(value), "\x00") != "" {
					t.Errorf("the bytes of record %d of %d are not given back", i+1, len(kept))
				}
			}
		})
	}
}
