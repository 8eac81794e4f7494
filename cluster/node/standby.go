package node

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"taximeter/checkpoint"
	"taximeter/checkpoint/pebblestore"
	"taximeter/cluster"
	"taximeter/schemas"
)

// standby keeps copies of the newest checkpoints of partitions that other nodes run, so
// that a run which begins here links its files instead of fetching them. It follows one
// partition at a time, and none while a run is being started: what runs here comes first.
//
// A copy is a means: nothing depends on its being there or new.
type standby struct {
	node   *Node
	budget int64         // bytes of all copies
	wake   chan struct{} // one slot: there may be something to do

	mu     sync.Mutex // guards all below
	tip    checkpoint.Manifest
	want   []schemas.Partition        // the most urgent first
	coming map[schemas.Partition]bool // of those: whose owner waits until the copy is there
	taken  map[schemas.Partition]bool // a run here has the folder
	copies map[schemas.Partition]*replica
	left   map[schemas.Partition]time.Time // folders that nobody wants, since when
	full   map[schemas.Partition]bool      // without a copy for want of room; told once
	stop   context.CancelFunc              // ends the round under way; nil = there was none yet
}

// replica is the copy of one partition.
type replica struct {
	mirror *pebblestore.Mirror
	made   checkpoint.Number // of the cut that it holds; 0 = none yet
	bytes  int64
	behind time.Time // since when there is a newer cut; zero = there is none

	cancel context.CancelFunc // ends the newest round of following
	done   chan struct{}      // closed when that round has ended
}

const (
	standbyEvery = time.Second
	// keepUnwanted is how long a folder stays that no run and no copy needs: a restart or a
	// rebalance often brings its partition back.
	keepUnwanted = time.Minute
)

func newStandby(n *Node) *standby {
	return &standby{node: n, budget: n.cfg.Cluster.StandbyMaxMB << 20, wake: make(chan struct{}, 1), coming: make(map[schemas.Partition]bool),
		taken: make(map[schemas.Partition]bool), copies: make(map[schemas.Partition]*replica), left: make(map[schemas.Partition]time.Time), full: make(map[schemas.Partition]bool)}
}

// run follows until the node ends.
func (s *standby) run() {
	tick := time.NewTicker(standbyEvery)
	defer tick.Stop()
	for {
		for s.followOne(s.node.ctx) {
		}
		s.clear()
		select {
		case <-tick.C:
		case <-s.wake:
		case <-s.node.ctx.Done():
			return
		}
	}
}

// wants says which copies are due. target is where each partition belongs.
func (s *standby) wants(tip checkpoint.Manifest, want []schemas.Partition, target []checkpoint.NodeID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	news := tip.Number != s.tip.Number || len(want) != len(s.want)
	s.tip, s.want = tip, want
	clear(s.coming)
	for _, p := range want {
		s.coming[p] = target[p] == s.node.id()
	}
	for p, r := range s.copies {
		switch newest := tip.Entries[p].Made == r.made; {
		case newest:
			r.behind = time.Time{}
		case r.behind.IsZero():
			r.behind = time.Now()
		}
	}
	if news {
		s.poke()
	}
}

func (s *standby) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// followOne brings the most urgent copy that is not the newest up to date; false = there is
// none, or now is no time for it.
func (s *standby) followOne(ctx context.Context) bool {
	p, e, r, ctx := s.next(ctx)
	if r == nil {
		return false
	}
	defer close(r.done)
	defer r.cancel()
	fetched, err := r.mirror.Follow(ctx, s.node.store, e.Files, s.earlier(p)...)
	if err != nil {
		if ctx.Err() == nil && !errors.Is(err, checkpoint.ErrNotFound) { // not found: retired meanwhile
			s.node.log.Warn("copy of a partition is not brought up to date; trying again", "partition", p, "err", err)
		}
		return false
	}
	s.removeEarlier(p)
	s.mu.Lock()
	first := r.made == 0
	r.made, r.bytes = e.Made, r.mirror.Bytes()
	if s.tip.Entries[p].Made == e.Made {
		r.behind = time.Time{}
	}
	awaited := s.coming[p]
	s.mu.Unlock()
	if first {
		s.node.log.Info("standby of a partition", "partition", p, "checkpoint", e.Made, "bytes", r.bytes, "fetched", fetched)
	}
	if awaited {
		s.node.crew.pulse.poke()
	}
	return true
}

// next chooses what to follow, and begins the round.
func (s *standby) next(ctx context.Context) (schemas.Partition, checkpoint.Entry, *replica, context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.node.crew.slots) > 0 {
		return 0, checkpoint.Entry{}, nil, ctx
	}
	for _, p := range s.want {
		e := s.tip.Entries[p]
		r := s.copies[p]
		if s.taken[p] || r != nil && r.made == e.Made || !s.coming[p] && !s.room(p, e) {
			continue
		}
		if r == nil {
			r = &replica{mirror: pebblestore.NewMirror(filepath.Join(s.node.home(p), copyFolder, stateFolder), s.node.shared)}
			s.copies[p] = r
		}
		ctx, r.cancel = context.WithCancel(ctx)
		s.stop = r.cancel
		r.done = make(chan struct{})
		return p, e, r, ctx
	}
	return 0, checkpoint.Entry{}, nil, ctx
}

// makeWay ends the round under way, for a start that holds a slot: until it has ended none
// begins. The files that are there already stay.
func (s *standby) makeWay() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop != nil {
		s.stop()
	}
}

// room reports whether the copy fits beside the others; of what comes here anyway it is not
// asked. s.mu must be held.
func (s *standby) room(p schemas.Partition, e checkpoint.Entry) bool {
	total := sizeOf(e.Files)
	for other, r := range s.copies {
		if other != p {
			total += r.bytes
		}
	}
	full := total > s.budget
	if full && !s.full[p] {
		s.node.log.Warn("no room for a copy of a partition: a take-over would fetch it; raise cluster.standbyMaxMB or lower cluster.standbys", "partition", p, "budget", s.budget)
	}
	s.full[p] = full
	return !full
}

// take gives the copy of a partition to a run that starts here; until give nobody follows
// it.
func (s *standby) take(p schemas.Partition) []pebblestore.Folder {
	s.mu.Lock()
	s.taken[p] = true
	r := s.copies[p]
	if r == nil {
		s.mu.Unlock()
		return nil
	}
	delete(s.copies, p)
	cancel, done := r.cancel, r.done
	s.mu.Unlock()
	cancel()
	<-done
	return []pebblestore.Folder{r.mirror.Folder()}
}

// give says that the run of a partition has ended here.
func (s *standby) give(p schemas.Partition) {
	s.mu.Lock()
	delete(s.taken, p)
	s.mu.Unlock()
	s.poke()
}

// clear removes the copies that nobody wants any more, and what runs have left of
// partitions that went elsewhere. Gigabytes take their time: starts and the crew do not wait
// for it.
func (s *standby) clear() {
	s.abandon()
	if err := removeAside(s.node.cfg.Data); err != nil {
		s.node.log.Warn("state of partitions that are elsewhere stays behind", "err", err)
	}
}

func (s *standby) abandon() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tip.Number == 0 {
		return // nothing is known yet
	}
	wanted := maps.Clone(s.taken)
	for _, p := range s.want {
		wanted[p] = true
	}
	for p := range s.tip.Entries {
		p := schemas.Partition(p)
		if since, known := s.left[p]; wanted[p] || s.tip.Entries[p].Owner == s.node.id() {
			delete(s.left, p)
		} else if !known {
			s.left[p] = time.Now()
		} else if time.Since(since) > keepUnwanted {
			delete(s.copies, p)
			if err := setAside(s.node.cfg.Data, s.node.home(p)); err != nil {
				s.node.log.Warn("state of a partition that is elsewhere stays behind", "partition", p, "err", err)
			}
		}
	}
}

// report is which cuts this node holds copies of.
func (s *standby) report() cluster.Copies {
	s.mu.Lock()
	defer s.mu.Unlock()
	held := make(cluster.Copies)
	for p, r := range s.copies {
		if r.made > 0 {
			held[p] = r.made
		}
	}
	return held
}

// freshness is how many seconds each copy is behind, and what all take.
func (s *standby) freshness() (behind map[schemas.Partition]float64, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	behind = make(map[schemas.Partition]float64)
	for p, r := range s.copies {
		bytes += r.bytes
		if r.made > 0 {
			behind[p] = 0
			if !r.behind.IsZero() {
				behind[p] = time.Since(r.behind).Seconds()
			}
		}
	}
	return behind, bytes
}

// earlier are the states that runs have left here.
func (s *standby) earlier(p schemas.Partition) (folders []pebblestore.Folder) {
	for _, dir := range s.node.runsLeft(p) {
		folders = append(folders, pebblestore.Folder{Dir: filepath.Join(dir, stateFolder)})
	}
	return folders
}

func (s *standby) removeEarlier(p schemas.Partition) {
	for _, dir := range s.node.runsLeft(p) {
		if err := os.RemoveAll(dir); err != nil {
			s.node.log.Warn("state of an earlier run stays behind", "partition", p, "err", err)
		}
	}
}

func sizeOf(files []checkpoint.File) (n int64) {
	for _, f := range files {
		n += f.Size
	}
	return n
}
