package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
)

// ErrNoChain is a namespace in which no manifest exists yet.
var ErrNoChain = errors.New("namespace has no manifest yet")

// ErrUnclear is a commit of which it is not known whether it happened, or will: the put had
// no clear answer and the chain could not show it. The caller goes on from Tip.
var ErrUnclear = errors.New("commit without a clear answer")

// Chain reads and extends the manifests of one namespace. It is not safe for concurrent
// use; any number of chains, in any number of processes, may work on one namespace.
type Chain struct {
	store Store
	ns    Namespace
	tip   Manifest // the highest seen; Number 0 = not looked yet
	// seen holds decoded manifests of [tip.Oldest, tip]: they never change while retained.
	seen    map[Number]Manifest
	parsed  parsed
	stoodIn Number // of the damaged tip that PassOver has stood in for; 0 = none
}

// NewChain looks at nothing yet.
func NewChain(store Store, ns Namespace) *Chain {
	return &Chain{store: store, ns: ns, seen: make(map[Number]Manifest)}
}

// From lets a chain go on from a manifest that another chain of the namespace has read: looking for
// the tip then costs one Stat for what is newer, and not a search from the first.
func (c *Chain) From(seen Manifest) { c.advance(seen) }

// Newest is the number of the tip, which may be damaged; 0 = there is no manifest yet.
func (c *Chain) Newest(ctx context.Context) (Number, error) {
	n, err := c.highest(ctx)
	if err != nil {
		return 0, fmt.Errorf("look for the tip of %s: %w", c.ns, err)
	}
	return n, nil
}

// Tip is the highest manifest. While nothing is new it costs one Stat.
func (c *Chain) Tip(ctx context.Context) (Manifest, error) {
	n, err := c.Newest(ctx)
	if err != nil {
		return Manifest{}, err
	}
	if n == 0 {
		return Manifest{}, fmt.Errorf("%s: %w", c.ns, ErrNoChain)
	}
	if n == c.tip.Number {
		return c.tip, nil
	}
	m, err := c.Read(ctx, n)
	if err != nil {
		return Manifest{}, fmt.Errorf("read the tip of %s: %w", c.ns, err)
	}
	c.advance(m)
	return m, nil
}

// highest finds the greatest number at or above the known tip. Keys are contiguous, because
// each is put at tip+1 and none is ever deleted: so it gallops and bisects. The first time
// it also lists behind the result: a bucket rule that expired old manifests must not make
// the chain seem short, since putting into the hole would fork it.
func (c *Chain) highest(ctx context.Context) (Number, error) {
	low := c.tip.Number
	for {
		n, err := c.gallop(ctx, low)
		if err != nil || c.tip.Number > 0 {
			return n, err
		}
		last := n
		for info, err := range c.store.List(ctx, c.ns.ManifestPrefix(), c.ns.Manifest(n)) {
			if err != nil {
				return 0, err
			}
			if k, ok := c.ns.manifestNumber(info.Key); ok {
				last = max(last, k)
			}
		}
		if last == n {
			return n, nil
		}
		low = last
	}
}

// gallop is the greatest n >= low such that low+1 .. n exist, given that low does (or is 0).
func (c *Chain) gallop(ctx context.Context, low Number) (Number, error) {
	step := Number(1)
	high := Number(0) // the least number known absent
	for high == 0 {
		switch exists, err := c.exists(ctx, low+step); {
		case err != nil:
			return 0, err
		case exists:
			low, step = low+step, 2*step
		default:
			high = low + step
		}
	}
	for high-low > 1 {
		mid := low + (high-low)/2
		switch exists, err := c.exists(ctx, mid); {
		case err != nil:
			return 0, err
		case exists:
			low = mid
		default:
			high = mid
		}
	}
	return low, nil
}

func (c *Chain) exists(ctx context.Context, n Number) (bool, error) {
	_, err := c.store.Stat(ctx, c.ns.Manifest(n))
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// Read is manifest n; ErrNotFound or ErrRetired if it is not there (any more).
func (c *Chain) Read(ctx context.Context, n Number) (Manifest, error) {
	if m, ok := c.seen[n]; ok {
		return m, nil
	}
	key := c.ns.Manifest(n)
	data, err := ReadAll(ctx, c.store, key)
	if err != nil {
		return Manifest{}, fmt.Errorf("read manifest %d: %w", n, err)
	}
	return c.parsed.manifest(key, data)
}

func (c *Chain) advance(m Manifest) {
	if m.Number <= c.tip.Number {
		return
	}
	c.tip = m
	c.seen[m.Number] = m
	maps.DeleteFunc(c.seen, func(n Number, _ Manifest) bool { return n < m.Oldest })
}

// Commit puts next, which must follow a tip that this chain has read (or be the first of an
// empty namespace), and reports whether it entered the chain, and the tip after it.
//
// Not won is an outcome: another writer was faster, derive anew from the tip. After a put
// without a clear answer the chain itself is read: what lies there is compared byte for
// byte, the token making ours unlike any other's. If the chain does not show it either, the
// error wraps ErrUnclear and the put may still land later; going on from Tip is safe.
func (c *Chain) Commit(ctx context.Context, next Manifest) (won bool, tip Manifest, err error) {
	data, err := EncodeManifest(next)
	if err != nil {
		return false, Manifest{}, err
	}
	if next.Namespace != c.ns {
		return false, Manifest{}, fmt.Errorf("commit manifest %d of %s into %s", next.Number, next.Namespace, c.ns)
	}
	if c.tip.Number == 0 {
		if _, err := c.Tip(ctx); err != nil && !errors.Is(err, ErrNoChain) {
			return false, Manifest{}, err
		}
	}
	if next.Number > c.tip.Number+1 {
		return false, Manifest{}, fmt.Errorf("commit manifest %d: the tip is %d, and a gap would fork the chain", next.Number, c.tip.Number)
	}
	key := c.ns.Manifest(next.Number)
	var putErr error
	if next.Number == c.tip.Number+1 { // else it is late, and a hole at its key must stay one
		var put Written
		put, putErr = c.store.PutIfAbsent(ctx, key, bytes.NewReader(data))
		if putErr == nil && put.Stored {
			c.advance(next)
			return true, next, nil
		}
	}
	there, err := ReadAll(ctx, c.store, key)
	if putErr == nil && errors.Is(err, ErrNotFound) {
		there, err = nil, nil // a hole: somebody deleted what stood there, hence not ours to claim
	}
	if err != nil {
		return false, Manifest{}, fmt.Errorf("commit manifest %d: %w: %w", next.Number, ErrUnclear, errors.Join(putErr, err))
	}
	won = bytes.Equal(there, data)
	tip, err = c.Tip(ctx)
	if err != nil {
		return won, Manifest{}, fmt.Errorf("commit manifest %d, won = %t: %w", next.Number, won, err)
	}
	return won, tip, nil
}

// Seals reads the seals in the store that are later than the tip's entries: those that any
// coordinator may offer to NextCheckpoint. A seal that cannot be read is left out and told
// in the error beside the others: it must not hold up other partitions.
func (c *Chain) Seals(ctx context.Context, tip Manifest) ([]Seal, error) {
	var seals []Seal
	var errs []error
	for info, err := range c.store.List(ctx, c.ns.SealPrefix(), "") {
		if err != nil {
			return seals, errors.Join(append(errs, fmt.Errorf("list seals: %w", err))...)
		}
		pl, ok := c.ns.PlaceOf(info.Key)
		if e, exists := tip.Entry(pl.Partition); !ok || !exists || pl.Epoch != e.Epoch || !pl.After(e) {
			continue
		}
		s, err := c.readSeal(ctx, info.Key)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		seals = append(seals, s)
	}
	return seals, errors.Join(errs...)
}

func (c *Chain) readSeal(ctx context.Context, key string) (Seal, error) {
	data, err := ReadAll(ctx, c.store, key)
	if err != nil {
		return Seal{}, fmt.Errorf("read seal: %w", err)
	}
	return DecodeSeal(key, data)
}

// Offer stores a seal for the coordinators; everything it cites must lie in the store.
func Offer(ctx context.Context, st Store, s Seal) error {
	data, err := EncodeSeal(s)
	if err != nil {
		return err
	}
	return st.Put(ctx, s.Key(), bytes.NewReader(data))
}
