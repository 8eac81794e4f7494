package node

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"taximeter/checkpoint"
	"taximeter/cluster"
)

// pulse shows the others that this node lives, looks at their heartbeats, and says what
// this node is ready to do: it resigns when it has not reached Kafka or the store for too
// long, and is back once both answer. It runs beside the crew: a slow step must not silence
// the heart.
type pulse struct {
	node  *Node
	say   func(cluster.Duty) // to the others, by gossip
	kafka func() time.Time   // when it last answered
	began time.Time          // of the monotonic clock that watch is fed with
	wake  chan struct{}      // one slot: there is news to tell

	mu       sync.Mutex // guards all below
	beats    int64
	watch    *cluster.Watch
	duty     cluster.Duty
	at       time.Time // of the last beat
	answered time.Time // by Kafka, as of then
	trouble  cluster.Trouble
	strange  bool                       // the chain cannot be followed
	well     time.Time                  // since when it serves and has had all it needs
	others   map[checkpoint.NodeID]seen // their heartbeats
}

// seen is what a node's newest heartbeat says.
type seen struct {
	copies cluster.Copies
	at     time.Time // of the last attempt to read it
}

const (
	// troublePatience is how long a node may reach Kafka or the store not at all: a restarting
	// broker or a failing-over bucket must not move partitions.
	troublePatience = 10 * time.Second
	// troubledEvery is how often a node in trouble looks whether it has passed, and awaitedEvery
	// how often one reads the heartbeat that a move waits for.
	troubledEvery, awaitedEvery = 500 * time.Millisecond, 500 * time.Millisecond
	// settled is how long a node must have served, and had all it needs, before it takes over
	// from one that has resigned: in an outage of all each resigns at its own moment, and
	// comes back at its own.
	settled = 5 * time.Second
	// uneasy is how long a node need not have reached Kafka or the store to know that it may
	// share another's trouble.
	uneasy = 2 * cluster.HeartbeatEvery
)

func newPulse(n *Node, say func(cluster.Duty), kafka func() time.Time) *pulse {
	now := time.Now()
	return &pulse{node: n, say: say, kafka: kafka, began: now, wake: make(chan struct{}, 1),
		watch: cluster.NewWatch(cluster.HeartbeatPatience, 4*cluster.HeartbeatEvery), at: now, well: now, others: make(map[checkpoint.NodeID]seen)}
}

// run beats until the node ends.
func (p *pulse) run() {
	for {
		every := cluster.HeartbeatEvery
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
	all := make(map[checkpoint.NodeID]cluster.Copies, len(p.others)+1)
	for id, o := range p.others {
		all[id] = o.copies
	}
	all[p.node.id()] = p.node.standby.report()
	return all
}

// beat puts our heartbeat, looks at the others' and at what we need; false in trouble.
func (p *pulse) beat(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, cluster.HeartbeatEvery)
	defer cancel()
	p.mu.Lock()
	resigned := p.duty == cluster.Resigned
	p.mu.Unlock()
	err := p.put(ctx, !resigned)
	if err == nil {
		p.look(ctx)
	}
	if p.feel(err) {
		// The others must see our heart beat before they hear that we serve: what stood still
		// for long is the heart of a dead node else.
		p.serve(p.put(ctx, true))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.duty != cluster.Resigned
}

// feel counts how long what we need has been away, and gives the duty up for it; err is what
// became of our heartbeat. It reports whether one that has resigned could be back.
func (p *pulse) feel(err error) (back bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	// A beat that comes late because this process stood still is no sign of trouble.
	passed := min(time.Since(p.at), 2*cluster.HeartbeatEvery)
	p.at = time.Now()
	p.trouble.Store += passed
	p.trouble.Kafka += passed
	if err == nil {
		p.trouble.Store = 0
	}
	if answered := p.kafka(); answered.After(p.answered) {
		p.answered, p.trouble.Kafka = answered, 0
	}
	if p.trouble.Resigns(uneasy) {
		p.well = p.at
	}
	troubled := p.trouble.Resigns(troublePatience)
	if troubled && p.duty == cluster.Serving {
		p.node.log.Error("this node has lost what it needs and resigns until it is back: others may take its partitions", "withoutStore", p.trouble.Store, "withoutKafka", p.trouble.Kafka)
		p.resign()
	}
	if err != nil || p.duty == cluster.Resigned {
		p.watch.PutFailed()
	} else {
		p.watch.Put(time.Since(p.began))
	}
	return p.duty == cluster.Resigned && !troubled && !p.strange
}

// serve takes the duty up again, once our heart beats.
func (p *pulse) serve(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil || p.duty != cluster.Resigned || p.strange { // drains now, or the chain has changed
		return
	}
	p.node.log.Info("this node has all it needs again and serves")
	p.duty, p.well = cluster.Serving, time.Now()
	p.say(p.duty)
}

// resign gives the duty up. p.mu must be held.
func (p *pulse) resign() {
	p.duty = cluster.Resigned
	p.say(p.duty)
}

// put writes our heartbeat, a new one or the same again: that of a node that has resigned stands
// still, so that even who is alone with it may take over; it is written all the same, to see
// whether the store answers.
func (p *pulse) put(ctx context.Context, anew bool) error {
	h := cluster.Heartbeat{Life: p.node.born, Replay: p.node.o.Mode == Replay}
	if anew {
		h.Copies, h.Stopped = p.node.standby.report(), p.node.stoppedInputs()
	}
	p.mu.Lock()
	if anew {
		p.beats++
	}
	h.Beat = p.beats
	p.mu.Unlock()
	return cluster.PutHeartbeat(ctx, p.node.store, p.node.ns, p.node.id(), h)
}

// estrange notes whether the chain can be followed. Back to duty leads a beat.
func (p *pulse) estrange(strange bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.strange != strange {
		p.poke()
	}
	if p.strange = strange; strange && p.duty == cluster.Serving {
		p.resign()
	}
}

// look reads the heartbeats of the other members.
func (p *pulse) look(ctx context.Context) {
	tip := p.node.tip.Load()
	if tip == nil {
		return
	}
	for _, id := range tip.Members {
		if id != p.node.id() {
			p.read(ctx, id)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watch.Forget(tip.Members)
	maps.DeleteFunc(p.others, func(id checkpoint.NodeID, _ seen) bool { return !tip.IsMember(id) })
}

func (p *pulse) read(ctx context.Context, id checkpoint.NodeID) {
	mark, h, err := cluster.ReadHeartbeat(ctx, p.node.store, p.node.ns, id)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil || errors.Is(err, checkpoint.ErrNotFound) {
		p.watch.Saw(id, mark, time.Since(p.began))
	} else {
		h.Copies = p.others[id].copies
	}
	p.others[id] = seen{h.Copies, time.Now()}
}

// copiesOf is what a node says it holds copies of. Its heartbeat is read for it if that was not
// done for a while: the receiver of a move beats as soon as its copy is there.
func (p *pulse) copiesOf(ctx context.Context, id checkpoint.NodeID) cluster.Copies {
	p.mu.Lock()
	known := p.others[id]
	p.mu.Unlock()
	if time.Since(known.at) < awaitedEvery {
		return known.copies
	}
	p.read(ctx, id)
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.others[id].copies
}

// drain says that this node goes.
func (p *pulse) drain() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.duty = cluster.Draining
	p.say(p.duty)
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

// ended hears whose membership this node has ended.
func (p *pulse) ended(ids []checkpoint.NodeID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watch.Ended(ids)
}

// beatAlone tells operators what a node without others waits for, and by leaving nothing that
// it has ended. That the store does not take it the checkpoints tell.
func (n *Node) beatAlone() {
	beating := true
	for beat := int64(1); beating; beat++ {
		ctx, cancel := context.WithTimeout(n.ctx, cluster.HeartbeatEvery)
		_ = cluster.PutHeartbeat(ctx, n.store, n.ns, n.id(), cluster.Heartbeat{Life: n.born, Beat: beat, Replay: n.o.Mode == Replay, Stopped: n.stoppedInputs()})
		cancel()
		beating = n.sleep(cluster.HeartbeatEvery)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(n.ctx), cluster.HeartbeatEvery)
	defer cancel()
	if _, last, err := cluster.ReadHeartbeat(ctx, n.store, n.ns, n.id()); err == nil && last.Life == n.born { // else another has replaced us
		_ = n.store.Delete(ctx, n.ns.Node(n.id()))
	}
}
