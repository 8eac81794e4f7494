package pebblestore

import (
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Config bounds what all partitions of a node share.
type Config struct {
	CacheBytes int64 // uncompressed blocks in memory; reads are for dormant trips only, so little is enough
	OpenFiles  int   // tables held open
}

// Default suits a node of some dozens of partitions.
func Default() Config { return Config{CacheBytes: 64 << 20, OpenFiles: 2048} }

// Shared is what the stores of one node have in common. It outlives them.
type Shared struct {
	cache *pebble.Cache
	files *pebble.FileCache
	fs    vfs.FS
	room  *room
	log   *slog.Logger

	opened atomic.Int64 // stores, so far
}

// fileCacheShards: two cores do not contend more than this spreads.
const fileCacheShards = 4

// NewShared touches no disk.
func NewShared(cfg Config, log *slog.Logger) *Shared { return newShared(cfg, log, vfs.Default) }

func newShared(cfg Config, log *slog.Logger, fs vfs.FS) *Shared {
	r := newRoom(fs, log)
	return &Shared{cache: pebble.NewCache(cfg.CacheBytes), files: pebble.NewFileCache(fileCacheShards, cfg.OpenFiles),
		fs: vfs.OnDiskFull(unsynced{fs}, r.wait), room: r, log: log}
}

// GiveUp ends the waiting for room on a full disk: stores may then be closed, and are void.
func (s *Shared) GiveUp() { s.room.givenUp() }

// Close frees the memory; every store must be closed before.
func (s *Shared) Close() {
	s.GiveUp()
	s.files.Unref()
	s.cache.Unref()
}

const (
	// A seal comes as one batch of some hundred KB to some MB. Batches above half a memtable
	// become a flushable of their own, without a copy into the skip list: that is the usual
	// way here. Two dozen partitions hold two memtables each.
	memTableBytes = 256 << 10

	// Each seal flushes one table into level 0. It spans all keys, although nearly all that it
	// holds lies at the young end and where old trips are dropped (partition.ByAge). A compaction
	// out of level 0 rewrites, and makes us upload, the whole level below. So a small one lies
	// between, cut by key: on goes the table that meets least in the last level, and what lies
	// in the middle is left alone. For the figures see DESIGN.md. A miss asks as many bloom
	// filters more: 15 us, and only for trips not in memory.
	l0Compaction = 32
	// The stores of a node are sealed in step. Were the bound the same for all, all would rewrite
	// themselves, and be fetched anew by their standbys, at the same seals: three nodes with 1 GB
	// each on two cores stood still for seconds and were called dead. So it differs from store to
	// store by up to a quarter.
	l0Steps = 9 // of 2: Pebble compacts at half the bound
	// Writes stop here. A compaction takes seconds and a seal comes every 30 s: only a disk
	// that stands still for half an hour gets this far, and then waiting is right.
	l0Stop = 96
	// levelBytes bounds the level between, cut into tables of levelTableBytes, until the last
	// holds levelMultiplier times that; then there is one more. With Pebble's ten there would
	// be two at 11 MB a partition, in which more that is superseded or deleted waits.
	levelBytes      = 1 << 20
	levelTableBytes = 256 << 10
	levelMultiplier = 32
	// tableBytes is what a compaction into the last level rewrites at least. Each table is a
	// get in a restore.
	tableBytes = 1 << 20
	// A flush is one table: each costs a put.
	flushBytes = 64 << 20

	// The manifest file is new in every snapshot and uploaded with it; by default it grows to
	// 128 MB before it is written afresh, which takes about 100 B per table.
	manifestBytes = 16 << 10

	// Most of a row is ids, in hex where a head names them: an entropy coder takes half of
	// that, and the rows of one trip, which lie together, resemble each other. Bytes a remembered
	// event, tracking and mixed form (bench/state): 41.4 and 74.2 with Snappy in blocks of 4 KB,
	// 35.1 and 61.4 with zstd, 33.3 and 56.4 with zstd in blocks of 16 KB.
	blockBytes = 16 << 10

	// 10 bits per key: one false hit in a hundred.
	bloomBits = 10
)

// format of Pebble's files: pinned, so that a newer library does not by itself write what
// the release before cannot read. It has checksums in the footers of tables.
const pebbleFormat = pebble.FormatTableFormatV6

// l0Bound is l0Compaction for the first store, and far from the last ones' for each other.
func (s *Shared) l0Bound() int {
	const stride = 4 // of l0Steps; no common factor
	step := s.opened.Add(1) * stride % l0Steps
	return l0Compaction + 2*(int(step)-l0Steps/2)
}

// fastZstd is for what seals flush: zstd at level 1 takes 0.18 us of CPU an event in the whole
// path where level 3, Pebble's own choice, takes 0.28, and tables are 0.7 % larger, until a
// compaction writes them anew. MinLZ would take 0.05 less, and a fifth more bytes.
var fastZstd = func() sstable.CompressionProfile {
	p, level1 := *sstable.ZstdCompression, sstable.BalancedCompression.DataBlocks
	p.DataBlocks, p.ValueBlocks, p.OtherBlocks = level1, level1, level1
	return p
}()

func (s *Shared) options() *pebble.Options {
	o := &pebble.Options{
		Cache:                 s.cache,
		FileCache:             s.files,
		FS:                    s.fs,
		FormatMajorVersion:    pebbleFormat,
		DisableWAL:            true, // what is not sealed is replayed from Kafka
		MemTableSize:          memTableBytes,
		L0CompactionThreshold: s.l0Bound(),
		L0StopWritesThreshold: l0Stop,
		LBaseMaxBytes:         levelBytes,
		FlushSplitBytes:       flushBytes,
		MaxManifestFileSize:   manifestBytes,
		Logger:                logger{s.log},
	}
	for i := range o.Levels {
		o.Levels[i].FilterPolicy = bloom.FilterPolicy(bloomBits)
		o.TargetFileSizes[i] = tableBytes
		o.Levels[i].BlockSize = blockBytes
		o.Levels[i].Compression = func() *sstable.CompressionProfile { return sstable.ZstdCompression }
	}
	o.Levels[0].Compression = func() *sstable.CompressionProfile { return &fastZstd }
	o.TargetFileSizes[0] = flushBytes
	o.TargetFileSizes[1] = levelTableBytes
	o.Experimental.LevelMultiplier = levelMultiplier
	return o
}

// logger passes Pebble's words on. Its chatter about flushes is for debugging.
type logger struct{ log *slog.Logger }

func (l logger) Infof(format string, args ...any) {
	l.log.Debug("pebble: " + fmt.Sprintf(format, args...))
}
func (l logger) Errorf(format string, args ...any) {
	l.log.Error("pebble: " + fmt.Sprintf(format, args...))
}

// Fatalf may not return: Pebble calls it where its state is beyond repair.
func (l logger) Fatalf(format string, args ...any) { panic("pebble: " + fmt.Sprintf(format, args...)) }
