package pebblestore

import (
	"fmt"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"taximeter/checkpoint"
	"taximeter/checkpoint/storetest"
)

// BenchmarkUpload argues the thresholds of level 0: bytes and objects put per seal of 1,000
// dirty trips of 1 KB, over 64 seals of a store of 20,000 whose compactions keep up.
func BenchmarkUpload(b *testing.B) {
	for _, threshold := range []int{4, 16, l0Compaction, 2 * l0Compaction} {
		b.Run(fmt.Sprint("l0=", threshold), func(b *testing.B) {
			const seals = 64
			var bytes, files int64
			for b.Loop() {
				bytes, files = 0, 0
				sh := newShared(Default(), shared(b, vfs.Default).log, vfs.Default)
				opts := sh.options()
				opts.L0CompactionThreshold, opts.L0StopWritesThreshold = threshold, 3*threshold
				st, err := open(filepath.Join(b.TempDir(), "s"), sh, opts, func(*Store) error { return nil })
				must(b, err)
				objects := storetest.NewMemory()
				apply(b, st, rows(0, 20_000, 0))
				base := seal(b, st, objects, 1, nil).Files
				for n := range checkpoint.SealNumber(seals) {
					apply(b, st, rows(int(n)*7%20*1000, int(n)*7%20*1000+1000, uint64(n)))
					settle(st.db)
					up := seal(b, st, objects, n+2, base)
					base = up.Files
					bytes += up.NewBytes
					files += int64(up.NewFiles)
				}
				must(b, st.Close())
				sh.Close()
			}
			b.ReportMetric(float64(bytes)/seals/1024, "KB/seal")
			b.ReportMetric(float64(files)/seals, "puts/seal")
		})
	}
}

func settle(db *pebble.DB) {
	for db.Metrics().Compact.NumInProgress > 0 {
		runtime.Gosched()
	}
}
