package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
)

// Retained reads the manifests [tip.Oldest, tip], ascending.
func (c *Chain) Retained(ctx context.Context, tip Manifest) ([]Manifest, error) {
	retained := make([]Manifest, 0, tip.Number-tip.Oldest+1)
	for n := tip.Oldest; n <= tip.Number; n++ {
		m, err := c.Read(ctx, n)
		if err != nil {
			return nil, err
		}
		if n >= c.tip.Oldest {
			c.seen[n] = m
		}
		retained = append(retained, m)
	}
	return retained, nil
}

// Collect deletes what nothing cites and puts stubs in place of the manifests that are no
// longer retained. Any number of nodes may do it at once, from however old a tip; a crash
// in between leaves work for the next. deleted counts the files.
func (c *Chain) Collect(ctx context.Context) (deleted int, err error) {
	tip, err := c.Tip(ctx)
	if err != nil {
		return 0, err
	}
	retained, err := c.Retained(ctx, tip)
	if errors.Is(err, ErrRetired) {
		return 0, nil // another collector is ahead of us with a newer tip
	}
	if err != nil {
		return 0, fmt.Errorf("collect garbage at manifest %d: %w", tip.Number, err)
	}
	for _, prefix := range c.ns.CollectedPrefixes() {
		var keys []string
		for info, err := range c.store.List(ctx, prefix, "") {
			if err != nil {
				return deleted, fmt.Errorf("collect garbage: list %s: %w", prefix, err)
			}
			keys = append(keys, info.Key)
		}
		garbage, err := Collectable(retained, keys)
		if err != nil {
			return deleted, err
		}
		for _, key := range garbage {
			if err := c.store.Delete(ctx, key); err != nil {
				return deleted, fmt.Errorf("collect garbage: %w", err)
			}
			deleted++
		}
	}
	return deleted, c.retire(ctx, tip.Oldest)
}

// retire puts stubs below oldest. It walks down to the first stub and then writes upwards,
// so that a crash leaves no unstubbed manifest below a stub.
func (c *Chain) retire(ctx context.Context, oldest Number) error {
	low := oldest
	for ; low > 1; low-- {
		_, err := c.Read(ctx, low-1)
		if errors.Is(err, ErrRetired) {
			break
		}
		var corrupt *CorruptError
		if err != nil && !errors.As(err, &corrupt) && !errors.Is(err, ErrNotFound) {
			return fmt.Errorf("retire manifest %d: %w", low-1, err)
		}
	}
	for ; low < oldest; low++ {
		data, err := encodeStub(low)
		if err != nil {
			return err
		}
		if err := c.store.Put(ctx, c.ns.Manifest(low), bytes.NewReader(data)); err != nil {
			return fmt.Errorf("retire manifest %d: %w", low, err)
		}
	}
	return nil
}
