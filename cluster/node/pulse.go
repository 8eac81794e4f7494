package node

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"taximeter/checkpoint"
	"taximeter/cluster"
	"taximeter/cluster/gossip"
)

// pulse shows the others that this node lives, looks at their heartbeats, and says what
// this node is ready to do: it resigns when it has not reached Kafka or the store for too
// long, and is back once both answer. It runs beside the crew: a slow step must not silence
// the heart.
type pulse struct {
	node   *Node
	gossip *gossip.Gossip
	began  time.Time     // of the monotonic clock that watch is fed with
	wake   chan struct{} // one slot: there is news to tell

	mu       sync.Mutex // guards all below
	beats    int64
	watch    *cluster.Watch
	duty     cluster.Duty
	at       time.Time // of the last beat
	answered time.Time // by Kafka, as of then
	trouble  cluster.Trouble
	strange  bool                                 // the chain cannot be followed
	well     time.Time                            // since when it serves
	copies   map[checkpoint.NodeID]cluster.Copies // of the others, by their heartbeats
}

const (
	heartbeatEvery = 2 * time.Second
	// heartbeatPatience is how long a heartbeat must stand still before a minority may take
	// over: longer than any pause of a healthy node's object store.
	heartbeatPatience = 15 * time.Second
	// troublePatience is how long a node may reach Kafka or the store not at all: a restarting
	// broker or a failing-over bucket must not move partitions.
	troublePatience = 10 * time.Second
	// troubledEvery is how often a node in trouble looks whether it has passed.
	troubledEvery = 500 * time.Millisecond
	// settled is how long a node must have served before it takes over from one that has
	// resigned: after an outage of all, each sees the others come back a moment later.
	settled = 5 * time.Second
)

func newPulse(n *Node, g *gossip.Gossip) *pulse {
	now := time.Now()
	return &pulse{node: n, gossip: g, began: now, wake: make(chan struct{}, 1),
		watch: cluster.NewWatch(heartbeatPatience, 4*heartbeatEvery), at: now, well: now, copies: make(map[checkpoint.NodeID]cluster.Copies)}
}

// run beats until the node ends.
func (p *pulse) run() {
	for {
		every := heartbeatEvery
		if !p.beat(p.node.ctx) {
			every = troubledEvery
		}
		select {
		case <-time.After(every):
		case <-p.wake:
		case <-p.node.ctx.Done():
			return
		}
	}
}

// poke lets the next beat come now.
func (p *pulse) poke() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// held is who holds copies of what; this node among them.
func (p *pulse) held() map[checkpoint.NodeID]cluster.Copies {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := maps.Clone(p.copies)
	all[p.node.id()] = p.node.standby.report()
	return all
}

// beat puts our heartbeat, looks at the others' and at what we need; false in trouble.
func (p *pulse) beat(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, heartbeatEvery)
	defer cancel()
	err := p.put(ctx)
	if err == nil {
		p.look(ctx)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	// A beat that comes late because this process stood still is no sign of trouble.
	passed := min(time.Since(p.at), 2*heartbeatEvery)
	p.at = time.Now()
	p.trouble.Store += passed
	p.trouble.Kafka += passed
	if err != nil {
		p.watch.PutFailed()
	} else {
		p.watch.Put(time.Since(p.began))
		p.trouble.Store = 0
	}
	if answered := p.node.source.Answered(); answered.After(p.answered) {
		p.answered, p.trouble.Kafka = answered, 0
	}
	p.resign()
	return p.duty != cluster.Resigned
}

// put writes our heartbeat. That of a node that has resigned stands still, so that even who is
// alone with it may take over; it is written all the same, to see whether the store answers.
func (p *pulse) put(ctx context.Context) error {
	p.mu.Lock()
	var copies cluster.Copies
	if p.duty != cluster.Resigned {
		p.beats++
		copies = p.node.standby.report()
	}
	beats := p.beats
	p.mu.Unlock()
	return p.node.putHeartbeat(ctx, beats, copies)
}

// estrange notes whether the chain can be followed.
func (p *pulse) estrange(strange bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.strange = strange
	p.resign()
}

// look reads the heartbeats of the other members.
func (p *pulse) look(ctx context.Context) {
	tip := p.node.tip.Load()
	if tip == nil {
		return
	}
	for _, id := range tip.Members {
		if id == p.node.id() {
			continue
		}
		mark, copies, err := p.node.readHeartbeat(ctx, id)
		if err == nil || errors.Is(err, checkpoint.ErrNotFound) {
			p.mu.Lock()
			p.watch.Saw(id, mark, time.Since(p.began))
			p.copies[id] = copies
			p.mu.Unlock()
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watch.Forget(tip.Members)
	maps.DeleteFunc(p.copies, func(id checkpoint.NodeID, _ cluster.Copies) bool { return !tip.IsMember(id) })
}

// resign gives the duty up or takes it again. p.mu must be held.
func (p *pulse) resign() {
	switch resigns := p.trouble.Resigns(troublePatience); {
	case p.strange && p.duty == cluster.Serving:
		p.duty = cluster.Resigned
	case p.strange:
		return
	case resigns && p.duty == cluster.Serving:
		p.node.log.Error("this node has lost what it needs and resigns until it is back: others may take its partitions", "withoutStore", p.trouble.Store, "withoutKafka", p.trouble.Kafka)
		p.duty = cluster.Resigned
	case !resigns && p.duty == cluster.Resigned:
		p.node.log.Info("this node reaches Kafka and the store again and serves")
		p.duty, p.well = cluster.Serving, time.Now()
	default:
		return
	}
	p.gossip.SetDuty(p.duty)
}

// drain says that this node goes.
func (p *pulse) drain() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.duty = cluster.Draining
	p.gossip.SetDuty(p.duty)
}

// takeOvers lists whom this node may take over from.
func (p *pulse) takeOvers(tip checkpoint.Manifest, v cluster.View) []checkpoint.TakeOver {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watch.Look(tip, v, time.Since(p.began))
	var all []checkpoint.TakeOver
	for _, t := range cluster.TakeOvers(tip, v, p.watch) {
		if m, ok := v.Member(t.Dead); ok && m.Duty == cluster.Resigned && time.Since(p.well) < settled {
			continue
		}
		all = append(all, t)
	}
	return all
}
