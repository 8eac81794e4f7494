package pebblestore

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

func TestStoresOfANodeAreNotCompactedInStep(t *testing.T) {
	sh := shared(t, vfs.NewMem())
	seen := make(map[int]bool)
	last := 0
	for i := range l0Steps {
		at := sh.options().L0CompactionThreshold / 2 // when Pebble compacts
		if i == 0 && at != l0Compaction/2 {
			t.Errorf("the first store compacts at %d tables, measured was %d", at, l0Compaction/2)
		}
		if seen[at] || max(at-last, last-at) < 3 {
			t.Errorf("store %d compacts at %d tables, the one before at %d", i, at, last)
		}
		seen[at], last = true, at
	}
}
