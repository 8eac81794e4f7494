package host

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"taximeter/checkpoint"
	"taximeter/schemas"
)

// Publisher is a fenced connection for outboxes. After an error it is unknown whether the
// outbox is public: only a new connection's Marker tells.
type Publisher interface {
	// Marker is the newest manifest number whose outbox is public; 0 = none.
	Marker(ctx context.Context) (checkpoint.Number, error)
	// Publish sends an outbox and its marker in one transaction.
	Publish(ctx context.Context, made checkpoint.Number, o schemas.Outbox) error
	// Settle finds out whether what was sent has reached its readers, and asks nobody once it has. It is called now and
	// then while there is nothing to send; after an error a new connection sees to it.
	Settle(ctx context.Context) error
	Close()
}

// publishing sends the partition's pending outboxes in the order of the manifests that made
// them.
type publishing struct {
	line
	dial   func(ctx context.Context) (Publisher, error)
	outbox func(ctx context.Context, ref checkpoint.OutboxRef) (schemas.Outbox, error)

	published atomic.Int64 // checkpoint.Number
	to        Publisher    // the sending goroutine's; nil = none

	mu      sync.Mutex // guards pending
	pending []checkpoint.OutboxRef
}

// begin opens the line after another one, which may take its time.
func (p *publishing) begin(other <-chan struct{}) {
	p.after = other
	p.name = "results"
	p.connect = func(ctx context.Context) error {
		to, err := p.dial(ctx)
		if err == nil {
			p.to = to
		}
		return err
	}
	p.hangUp = func() {
		if p.to != nil {
			p.to.Close()
			p.to = nil
		}
	}
	p.readBack = func(ctx context.Context, e checkpoint.Entry) error {
		marker, err := p.to.Marker(ctx)
		if err != nil {
			return fmt.Errorf("read the marker: %w", err)
		}
		p.set(e.Pending)
		p.published.Store(int64(marker))
		return nil
	}
	p.next = p.publishNext
	p.settle = func(ctx context.Context) error { return p.to.Settle(ctx) }
	p.start()
}

// set takes what a manifest says. An opening and the checkpoints tell it, and not in the order of the manifests: what
// was made last is the newest word.
func (p *publishing) set(refs []checkpoint.OutboxRef) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if newest(refs) >= newest(p.pending) {
		p.pending = refs
	}
}

func newest(refs []checkpoint.OutboxRef) checkpoint.Number {
	if len(refs) == 0 {
		return 0
	}
	return refs[len(refs)-1].Made
}

// oldest is the pending outbox to publish next.
func (p *publishing) oldest() (checkpoint.OutboxRef, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, ref := range p.pending {
		if int64(ref.Made) > p.published.Load() {
			return ref, true
		}
	}
	return checkpoint.OutboxRef{}, false
}

// unpublished is how many are pending that this run has not published or found public.
func (p *publishing) unpublished() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, ref := range p.pending {
		if int64(ref.Made) > p.published.Load() {
			n++
		}
	}
	return n
}

func (p *publishing) publishNext(ctx context.Context) (bool, error) {
	ref, ok := p.oldest()
	if !ok {
		return false, nil
	}
	o, err := p.outbox(ctx, ref)
	if err != nil {
		return false, fmt.Errorf("outbox %d: %w", ref.Made, err)
	}
	if !o.Silent() {
		if err := p.to.Publish(ctx, ref.Made, o); err != nil {
			return false, fmt.Errorf("outbox %d: %w", ref.Made, err)
		}
	}
	p.published.Store(int64(ref.Made))
	return true, nil
}
