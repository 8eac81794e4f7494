package webhook

import (
	"context"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// maxHeld is how many alerts of a partition wait before no more are fetched, and a channel
// that fails gives up what waits for it, so that it holds up no other. What one poll
// returned comes on top.
const (
	maxHeld = 1_000
	maxPoll = 500
)

// partition is what this process holds of one partition, until it is revoked.
type partition struct {
	items   chan *item    // from the poll to take
	lanes   map[int]*lane // by channel; take's alone
	budget  time.Duration
	stop    context.CancelFunc
	running sync.WaitGroup

	mark func(*kgo.Record) // lets its offset, and all before it, be committed
	hold func(bool)        // asks for no more records, or for more again

	mu       sync.Mutex    // guards what follows and item.left
	inFlight []*item       // in the log's order; the first is not done
	held     bool          // no more are fetched
	pressure chan struct{} // closed while held
}

func newPartition(budget time.Duration, mark func(*kgo.Record), hold func(bool)) *partition {
	return &partition{items: make(chan *item, maxHeld+maxPoll), lanes: make(map[int]*lane), budget: budget, mark: mark, hold: hold,
		pressure: make(chan struct{})}
}

// push takes a record in.
func (p *partition) push(r *kgo.Record) {
	it := &item{record: r, taken: time.Now(), left: 1}
	p.mu.Lock()
	p.inFlight = append(p.inFlight, it)
	if len(p.inFlight) >= maxHeld && !p.held {
		p.held = true
		close(p.pressure)
		p.hold(true)
	}
	p.mu.Unlock()
	p.items <- it
}

// share notes how many channels an alert goes to, one at least, before they see it.
func (p *partition) share(it *item, channels int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	it.left = channels
}

// done is told once by each channel that an alert went to. The offset moves over all that
// every channel is done with.
func (p *partition) done(it *item) {
	p.mu.Lock()
	defer p.mu.Unlock()
	it.left--
	var last *item
	for len(p.inFlight) > 0 && p.inFlight[0].left == 0 {
		last, p.inFlight = p.inFlight[0], p.inFlight[1:]
	}
	if last == nil {
		return
	}
	p.mark(last.record)
	if p.held && len(p.inFlight) <= maxHeld/2 {
		p.held, p.pressure = false, make(chan struct{})
		p.hold(false)
	}
}

// pressed is closed while too much waits.
func (p *partition) pressed() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pressure
}
