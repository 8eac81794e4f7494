package iceberg

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// Upkeep is what one round of maintenance did to one table.
type Upkeep struct {
	Table       string `json:"table"`
	FilesBefore int    `json:"filesBefore"` // rewritten by compaction
	FilesAfter  int    `json:"filesAfter"`  // into these
	Deletes     int    `json:"deletes"`     // files of deletes that were merged and removed
	Bytes       int64  `json:"bytes"`       // of data read and written again
	Manifests   int    `json:"manifests"`   // merged
	Snapshots   int    `json:"snapshots"`   // expired
	Orphans     int    `json:"orphans"`     // files that nothing cited
}

// Idle reports whether there was nothing to do.
func (u Upkeep) Idle() bool { return u == Upkeep{Table: u.Table} }

// Maintain does what is due to every table: it compacts, merges manifests, expires snapshots
// and removes orphaned files. Where nothing is due it only reads metadata, so it may be
// called every few minutes, and by several nodes: each step is one commit that fails if
// another was faster.
//
// Nothing that recovery needs is among what it removes: progress lies in the tables'
// properties, and a restore finds rows by their checkpoint id.
func (l *Lake) Maintain(ctx context.Context) ([]Upkeep, error) {
	ctx = l.reaching(ctx)
	var done []Upkeep
	var faults error
	for _, s := range l.shapes() {
		u := Upkeep{Table: s.name}
		for _, part := range []func(context.Context, *shape, *Upkeep) error{l.compact, l.mergeManifests, l.expire, l.removeOrphans} {
			if err := part(ctx, s, &u); err != nil {
				faults = errors.Join(faults, fmt.Errorf("maintain table %s: %w", s.name, err))
			}
		}
		done = append(done, u)
	}
	return done, faults
}

// mergeManifests keeps planning cheap where the commits themselves do not merge: those with
// deletes.
func (l *Lake) mergeManifests(ctx context.Context, s *shape, u *Upkeep) error {
	return l.retry(ctx, s, func(t *table.Table) (*table.Transaction, error) {
		u.Manifests = 0
		fs, err := t.FS(ctx)
		if err != nil || t.CurrentSnapshot() == nil {
			return nil, err
		}
		manifests, err := t.CurrentSnapshot().Manifests(fs)
		if err != nil {
			return nil, err
		}
		small := 0
		for _, m := range manifests {
			if m.ManifestContent() == iceberg.ManifestContentData && m.Length() < table.ManifestTargetSizeBytesDefault/2 {
				small++
			}
		}
		if small < l.cfg.Maintenance.SmallFiles {
			return nil, nil
		}
		txn := t.NewTransaction()
		r, err := txn.RewriteManifests(ctx)
		if err != nil || r.IsNoOp() {
			return nil, err
		}
		u.Manifests = len(r.RewrittenManifests)
		return txn, nil
	})
}

// expire removes snapshots beyond the history, once there are enough of them to be worth a
// commit, or they have been there for twice as long.
func (l *Lake) expire(ctx context.Context, s *shape, u *Upkeep) error {
	history := l.cfg.Maintenance.History
	return l.retry(ctx, s, func(t *table.Table) (*table.Transaction, error) {
		cutoff := l.now().Add(-history)
		old, due := 0, false
		current := t.CurrentSnapshot()
		for _, snap := range t.Metadata().Snapshots() {
			if at := time.UnixMilli(snap.TimestampMs); at.Before(cutoff) && snap.SnapshotID != current.SnapshotID {
				old++
				due = due || at.Before(cutoff.Add(-history))
			}
		}
		u.Snapshots = max(u.Snapshots, old)
		if !due && old < l.cfg.Maintenance.SmallFiles || old == 0 {
			if old > 0 {
				u.Snapshots = 0
			}
			return nil, nil
		}
		txn := t.NewTransaction()
		return txn, txn.ExpireSnapshots(table.WithOlderThan(history), table.WithRetainLast(1))
	})
}

// removeOrphans lists the table's folder for files that nothing cites: what crashes and
// refused commits left.
func (l *Lake) removeOrphans(ctx context.Context, s *shape, u *Upkeep) error {
	t, err := l.load(ctx, s)
	if err != nil {
		return err
	}
	last, err := propertyInt(t, propertyOrphansAt)
	if err != nil || l.now().Sub(time.UnixMilli(last)) < l.cfg.Maintenance.OrphansEvery {
		return err
	}
	r, err := t.DeleteOrphanFiles(ctx, table.WithFilesOlderThan(l.cfg.Maintenance.OrphanAge))
	if err != nil {
		return fmt.Errorf("remove orphaned files: %w", err)
	}
	u.Orphans = len(r.DeletedFiles)
	return l.retry(ctx, s, func(t *table.Table) (*table.Transaction, error) {
		txn := t.NewTransaction()
		return txn, txn.SetProperties(iceberg.Properties{propertyOrphansAt: strconv.FormatInt(l.now().UnixMilli(), 10)})
	})
}
