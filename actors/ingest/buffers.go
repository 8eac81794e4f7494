package ingest

import (
	"sync"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kgo"
)

// buffers lend the client what it decompresses batches into and the records that it makes
// of them. Together they were half of all that a node allocated while catching up.
//
// What is lent comes back once every record of a batch was recycled, which Batch.Release
// does. What is dropped instead, as with a partition that is removed, is garbage like any
// other.
type buffers struct {
	expansion atomic.Int64 // bytes that expansionUnit bytes of the latest batches decompressed to, at most
	bytes     shelf[byte]
	records   shelf[kgo.Record]
}

const (
	expansionUnit  = 1 << 10
	firstExpansion = 4 * expansionUnit
	maxExpansion   = 8 * expansionUnit // one batch of zeros must not make all others' buffers large
	// forgetting is how many batches it takes, about, to notice that they expand less.
	forgetting = 64
	// spare is what a decompressor wants to see free behind the last byte.
	spare = 1 << 10

	idleBytes   = 32 << 20 // on the shelf
	idleRecords = 64 << 10
)

func newBuffers() *buffers {
	b := &buffers{bytes: shelf[byte]{most: idleBytes}, records: shelf[kgo.Record]{most: idleRecords}}
	b.expansion.Store(firstExpansion)
	return b
}

// GetDecompressBytes guesses: a buffer that is too small is replaced by a larger one, which
// comes back in its place.
func (b *buffers) GetDecompressBytes(compressed []byte, _ kgo.CompressionCodecType) []byte {
	n := len(compressed) * int(b.expansion.Load()) / expansionUnit
	return b.bytes.get(min(n, maxDecompressed) + spare)[:0]
}

func (b *buffers) PutDecompressBytes(p []byte)     { b.bytes.put(p) }
func (b *buffers) GetRecords(n int) []kgo.Record   { return b.records.get(n) }
func (b *buffers) PutRecords(records []kgo.Record) { b.records.put(records) }

// OnFetchBatchRead learns how much batches expand: at once that it is more, slowly that it
// is less.
func (b *buffers) OnFetchBatchRead(_ kgo.BrokerMetadata, _ string, _ int32, m kgo.FetchBatchMetrics) {
	if m.CompressedBytes == 0 || m.CompressedBytes == m.UncompressedBytes {
		return
	}
	seen := int64(expansionUnit*m.UncompressedBytes/m.CompressedBytes) + 1
	known := b.expansion.Load()
	if seen < known {
		seen = known - (known-seen)/forgetting
	}
	b.expansion.Store(min(seen, maxExpansion))
}

// shelf keeps slices that are not in use, by their capacity, up to most elements.
type shelf[T any] struct {
	most int

	mu   sync.Mutex // guards all below
	idle [numSizes][][]T
	held int // elements
}

const (
	// Sizes are four to each power of two, so that at most a fifth of a new slice is too much.
	numSizes = 4 * 26
	// slack is how many sizes more than asked for may be lent: up to twice as much.
	slack = 5
)

func sizeOf(class int) int { return (4 + class%4) << (class / 4) }

func (s *shelf[T]) get(n int) []T {
	class := 0
	for class < numSizes-1 && sizeOf(class) < n {
		class++
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := class; c < min(class+slack, numSizes); c++ {
		if last := len(s.idle[c]) - 1; last >= 0 {
			p := s.idle[c][last]
			s.idle[c][last] = nil
			s.idle[c] = s.idle[c][:last]
			s.held -= cap(p)
			return p
		}
	}
	return make([]T, max(n, sizeOf(class)))
}

func (s *shelf[T]) put(p []T) {
	class := numSizes - 1
	for class >= 0 && sizeOf(class) > cap(p) {
		class--
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if class < 0 || s.held+cap(p) > s.most {
		return
	}
	s.idle[class] = append(s.idle[class], p)
	s.held += cap(p)
}
