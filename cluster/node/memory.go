package node

import (
	"runtime"
	"sync/atomic"
	"time"

	"taximeter/internal/heap"
)

// memory says when a checkpoint must not wait for its time. What has changed since the last one
// cannot leave memory, and a node that catches up changes more within an interval than a small
// container has room for: it would be killed, begin where it had begun, and be killed again.
type memory struct {
	least   uint64 // that lived at a collection since the newest early round was asked for; 0 = not seen yet
	waiting bool   // for that round
	held    bool   // the input waits for it too
	told    time.Time
	ended   atomic.Bool   // that round has
	filled  atomic.Uint32 // a level
}

// Shares of the heap's bound.
const (
	// earlyGrowth is how much more may live than at the least before a checkpoint begins early.
	earlyGrowth = 0.25
	// fullGrowth is the same for one that is full: what lives there for good, such as caches, is
	// no reason to make checkpoint after checkpoint.
	fullGrowth = 0.1
	tightAt    = 0.5
	// fullAt is what may live before also the input waits for the checkpoint: what it needs itself,
	// and what lies in buffers, must have room.
	fullAt = 0.7
)

// Levels of filled.
const (
	roomy uint32 = iota
	tight        // trips leave as soon as they were idle for a whole checkpoint
	full         // and whatever the checkpoint holds leaves
)

// step is what to do about memory.
type step struct {
	round bool // begin a checkpoint
	hold  bool // let the input wait for it
	letGo bool // of the input
}

// look decides by what lives. While checkpoints fail the input waits for none: what changed leaves
// memory by way of the local store, and alerts must not stop.
func (m *memory) look(live, limit uint64, failing bool) (do step) {
	if m.least == 0 {
		m.least = live
	}
	m.least = min(m.least, live)
	share := float64(live) / float64(limit)
	level := roomy
	switch {
	case share >= fullAt:
		level = full
	case share >= tightAt:
		level = tight
	}
	m.filled.Store(level)
	ended := m.waiting && m.ended.Swap(false)
	if ended {
		m.waiting = false
	}
	grown := float64(live-m.least) / float64(limit)
	switch {
	case m.held && ended:
		m.held, do.letGo = false, true
		return do // what lives now is seen the next time
	case level == full && !m.held && !failing && (m.waiting || grown >= fullGrowth):
		m.held, do.hold = true, true
		do.round = !m.waiting
	case !m.waiting:
		do.round = grown >= earlyGrowth
	}
	if do.round {
		m.least, m.waiting = live, true
	}
	return do
}

// idleSeals is for how many seals a trip must be idle to leave memory.
func (n *Node) idleSeals() int64 {
	switch n.memory.filled.Load() {
	case full:
		return 0
	case tight:
		return 1
	}
	return n.cfg.Memory.IdleSeals
}

// watchMemory begins a checkpoint if there is cause, and tells so.
func (n *Node) watchMemory() (early bool) {
	const tellEvery = time.Minute
	m := &n.memory
	live, limit := heap.Live()
	rounds := n.rounds.Load()
	do := m.look(live, limit, rounds != nil && rounds.LastError != nil)
	tell := time.Since(m.told) > tellEvery
	if (do.round || do.hold) && tell {
		m.told = time.Now()
	}
	switch {
	case do.letGo:
		runtime.GC() // without input nothing else would show what lives now
		n.source.Resume()
	case do.hold:
		if tell {
			n.log.Warn("memory is nearly full: the input waits for a checkpoint; give the node more memory", "liveMB", live>>20, "ofMB", limit>>20)
		}
		n.source.Hold()
	case do.round && tell:
		n.log.Info("a checkpoint begins early: what only a checkpoint lets leave memory has grown", "liveMB", live>>20, "ofMB", limit>>20)
	}
	if do.round {
		n.background(func() {
			_, _ = n.Checkpoint(n.ctx) // the coordinator tells what failed
			m.ended.Store(true)
		})
	}
	return do.round
}
