package chaos

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"taximeter/actors/partition"
	"taximeter/checkpoint"
	"taximeter/checkpoint/pebblestore"
	"taximeter/cluster/admin"
	"taximeter/schemas"
)

// fatten gives every partition state that nobody asks for: rows of trips that never come
// again, among the keys of those that do. While no node is there the harness is the owner of
// all, by the rules that hold for every node.
func (c *clusterRun) fatten(ctx context.Context) error {
	if c.cs.State == 0 {
		return nil
	}
	if err := c.fleet.whole(ctx); err != nil {
		return err
	}
	if err := c.stopAll(ctx); err != nil {
		return err
	}
	tip, err := c.tip(ctx)
	if err != nil {
		return err
	}
	b := &ballast{c: c, chain: checkpoint.NewChain(c.store, dutyNamespace), bytes: c.cs.State * int64(c.cs.Nodes) / int64(len(tip.Entries))}
	b.shared = pebblestore.NewShared(pebblestore.Default(), slog.New(slog.DiscardHandler))
	defer b.shared.Close()
	if err := b.load(ctx, tip); err != nil {
		return err
	}
	return c.startAll()
}

// ballast is the harness as a node.
type ballast struct {
	c      *clusterRun
	chain  *checkpoint.Chain
	shared *pebblestore.Shared
	bytes  int64 // of each partition
	stamps int
}

const ballastNode = checkpoint.NodeID("ballast")

func (b *ballast) stamp() checkpoint.Stamp {
	b.stamps++
	return checkpoint.Stamp{At: 1, By: ballastNode, Token: "ballast-" + strconv.Itoa(b.stamps)}
}

func (b *ballast) load(ctx context.Context, tip checkpoint.Manifest) error {
	limits := checkpoint.Limits{Retain: 1_000_000, MaxPending: 20}
	begin, end := []checkpoint.Change{checkpoint.Join{Node: ballastNode}}, []checkpoint.Change{checkpoint.Leave{Node: ballastNode}}
	for p := range tip.Entries {
		begin = append(begin, checkpoint.Start{Partition: schemas.Partition(p), Owner: ballastNode, Incarnation: 1})
		end = append(end, checkpoint.Start{Partition: schemas.Partition(p)})
	}
	next, err := checkpoint.Assign(tip, limits, b.stamp(), begin...)
	if err != nil {
		return err
	}
	if tip, err = b.commit(ctx, next); err != nil {
		return err
	}
	var seals []checkpoint.Seal
	for p := range tip.Entries {
		seal, err := b.seal(ctx, tip, schemas.Partition(p))
		if err != nil {
			return fmt.Errorf("partition %d: %w", p, err)
		}
		seals = append(seals, seal)
	}
	next, rejected := checkpoint.NextCheckpoint(tip, seals, nil, limits, b.stamp())
	if len(rejected) > 0 {
		return fmt.Errorf("refused: %s", rejected[0])
	}
	if tip, err = b.commit(ctx, next); err != nil {
		return err
	}
	if next, err = checkpoint.Assign(tip, limits, b.stamp(), end...); err != nil {
		return err
	}
	_, err = b.commit(ctx, next)
	return err
}

func (b *ballast) commit(ctx context.Context, m checkpoint.Manifest) (checkpoint.Manifest, error) {
	won, tip, err := b.chain.Commit(ctx, m)
	if err == nil && !won {
		err = fmt.Errorf("somebody else wrote manifest %d", m.Number)
	}
	return tip, err
}

// seal is a cut of the partition with more in it, at the offsets where it stands.
func (b *ballast) seal(ctx context.Context, tip checkpoint.Manifest, p schemas.Partition) (seal checkpoint.Seal, err error) {
	// Rows do not shrink. Each batch is a table in level 0; so many are compacted into small
	// tables by key, as in a store that has run for long. Few and large ones would wait in level
	// 0 for the nodes, which would rewrite, and fetch, all partitions a few checkpoints later.
	const row, batches = 1 << 10, 64
	rows := int(b.bytes/row/batches) + 1
	e := tip.Entries[p]
	dir := filepath.Join(b.c.dir, "ballast-"+strconv.Itoa(int(p)))
	st, err := pebblestore.Restore(ctx, b.c.store, e.Files, dir, b.shared)
	if err != nil {
		return seal, err
	}
	defer func() { err = errors.Join(err, st.Close(), os.RemoveAll(dir)) }()
	rng := rand.New(rand.NewPCG(b.c.cs.Seed, uint64(p)))
	value := make([]byte, row)
	for left := b.bytes; left > 0; {
		batch := st.NewBatch()
		for i := 0; i < rows && left > 0; i, left = i+1, left-row {
			random(rng, value)
			batch.Put(partition.TripKey(schemas.TripID(fmt.Sprintf("%x", value[:16]))), value)
		}
		if err := st.Apply(ctx, batch); err != nil {
			return seal, err
		}
		if err := until(ctx, compactionPatience, func() bool { return !st.Compacting() }); err != nil {
			return seal, fmt.Errorf("a compaction does not end: %w", err)
		}
	}
	snapshot, err := st.Checkpoint(dir + "-snapshot")
	if err != nil {
		return seal, err
	}
	seal = checkpoint.NewSeal(tip, p, e.Seal)
	up, err := snapshot.Upload(ctx, b.c.store, dutyNamespace, seal.Place(), e.Files)
	if err != nil {
		return seal, err
	}
	seal.Files = up.Files
	return seal, errors.Join(checkpoint.Offer(ctx, b.c.store, seal), snapshot.Remove())
}

const compactionPatience = time.Minute // of some hundred MB

func random(rng *rand.Rand, into []byte) {
	for i := 0; i+8 <= len(into); i += 8 {
		binary.LittleEndian.PutUint64(into[i:], rng.Uint64())
	}
}

// warm waits until every partition has a standby with a cut of now: what a take-over is
// measured from.
func (c *clusterRun) warm(ctx context.Context) error {
	if c.cs.Standbys == 0 || c.cs.State == 0 {
		return nil
	}
	tip, err := c.tip(ctx)
	if err != nil {
		return err
	}
	const patience = 5 * time.Minute
	err = until(ctx, patience, func() bool {
		st, err := ask[admin.ClusterStatus](ctx, c.fleet, c.fleet.living()[0], "/cluster")
		return err == nil && !slices.ContainsFunc(st.Partitions, func(p admin.Placement) bool {
			return !slices.ContainsFunc(p.Standbys, func(s admin.Standby) bool { return s.Made >= int64(tip.Entries[p.Partition].Made) })
		})
	})
	if err != nil {
		return fmt.Errorf("standbys are not warm after %s: %w", patience, err)
	}
	return nil
}
