package pebblestore

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"taximeter/checkpoint"
	"taximeter/checkpoint/storetest"
)

// byAge is a partition whose trips of 1 KB each lie by age, with a pointer under the id.
type byAge struct {
	st         *Store
	objects    checkpoint.Store
	base       []checkpoint.File
	n          checkpoint.SealNumber
	first, end int // trips stored
	rng        *rand.Rand
}

func (a *byAge) key(trip int) []byte {
	return fmt.Appendf(binary.BigEndian.AppendUint32([]byte("v/"), uint32(trip/10)), "%x", uint32(trip)*2654435761)
}

func (a *byAge) pointer(trip int) []byte { return fmt.Appendf(nil, "t/%x", uint32(trip)*2654435761) }

// seal begins so many trips, writes to as many of the youngest, and drops the oldest.
func (a *byAge) seal(t testing.TB, began, dropped int) Uploaded {
	b := a.st.NewBatch()
	put := func(trip int) {
		value := make([]byte, 1024)
		for i := range value {
			value[i] = byte(a.rng.Uint32())
		}
		b.Put(a.key(trip), value)
	}
	for trip := max(a.first, a.end-began); trip < a.end; trip++ {
		put(trip)
	}
	for range began {
		put(a.end)
		b.Put(a.pointer(a.end), []byte("somewhere"))
		a.end++
	}
	for range dropped {
		b.Delete(a.key(a.first))
		b.Delete(a.pointer(a.first))
		a.first++
	}
	must(t, a.st.Apply(t.Context(), b))
	settle(a.st.db)
	a.n++
	up := seal(t, a.st, a.objects, a.n, a.base)
	a.base = up.Files
	return up
}

const (
	seals = 128
	began = 16 // trips between two seals
)

// uploaded per seal by a store that holds so many trips while as many go as come.
func uploaded(t testing.TB, trips int, of func(*pebble.Options)) (bytes, files float64, cited int) {
	sh := shared(t, vfs.NewMem())
	opts := sh.options()
	of(opts)
	st, err := open("s", sh, opts, func(*Store) error { return nil })
	must(t, err)
	a := &byAge{st: st, objects: storetest.NewMemory(), rng: rand.New(rand.NewPCG(1, 2))}
	for a.end < trips {
		a.seal(t, 512, 0)
	}
	for range seals {
		up := a.seal(t, began, began)
		bytes += float64(up.NewBytes) / seals
		files += float64(up.NewFiles) / seals
	}
	must(t, st.Close())
	return bytes, files, len(a.base)
}

// What a seal uploads follows what changed, not what the store holds: a compaction takes
// what is young and what is dropped, and leaves what lies between alone.
func TestASealUploadsWhatChangedNotTheStore(t *testing.T) {
	const change = 2 * began << 10
	for _, trips := range []int{4 << 10, 16 << 10} {
		bytes, files, cited := uploaded(t, trips, func(*pebble.Options) {})
		if bytes > 5*change || files > 3 || cited > 16+trips/128 {
			t.Errorf("%d KB held: %.0f bytes in %.1f files a seal for %d that changed; %d files cited", trips, bytes, files, change, cited)
		}
	}
}

// BenchmarkUpload argues the sizes of levels and tables: bytes and objects put per seal of
// 32 KB in a store of 16 MB whose compactions keep up.
func BenchmarkUpload(b *testing.B) {
	for name, of := range map[string]func(*pebble.Options){
		"chosen":           func(*pebble.Options) {},
		"no level between": func(o *pebble.Options) { o.LBaseMaxBytes = 64 << 20 },
		"large tables": func(o *pebble.Options) {
			for i := range o.TargetFileSizes {
				o.TargetFileSizes[i] = 16 << 20
			}
		},
		"level 0 of 64": func(o *pebble.Options) { o.L0CompactionThreshold, o.L0StopWritesThreshold = 64, 192 },
	} {
		b.Run(name, func(b *testing.B) {
			var bytes, files float64
			var cited int
			for b.Loop() {
				bytes, files, cited = uploaded(b, 16<<10, of)
			}
			b.ReportMetric(bytes/1024, "KB/seal")
			b.ReportMetric(files, "puts/seal")
			b.ReportMetric(float64(cited), "files")
		})
	}
}

// settle waits for the compactions that are due.
func settle(db *pebble.DB) {
	for db.Metrics().Compact.NumInProgress > 0 {
		runtime.Gosched()
	}
}
