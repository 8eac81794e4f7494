package iceberg

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/apache/iceberg-go/table/compaction"
)

// group is files of one partition that become one, or a few.
type group struct {
	tasks []table.FileScanTask
	bytes int64
}

// compact rewrites the partitions that have too many small files or deletes, a group at a
// time, so that the work of one that loses its race is not all.
func (l *Lake) compact(ctx context.Context, s *shape, u *Upkeep) error {
	t, err := l.load(ctx, s)
	if err != nil || t.CurrentSnapshot() == nil {
		return err
	}
	tasks, err := t.Scan().PlanFiles(ctx)
	if err != nil {
		return fmt.Errorf("plan a compaction: %w", err)
	}
	for _, g := range l.due(t, s, tasks) {
		if err := l.rewrite(ctx, t, s, g, u); err != nil {
			return err
		}
	}
	return nil
}

// due groups the files that are worth rewriting: in an open partition when there are many
// small ones or many deletes, in a closed one also when there are two, or any delete.
func (l *Lake) due(t *table.Table, s *shape, tasks []table.FileScanTask) (groups []group) {
	m := l.cfg.Maintenance
	target := int64(m.TargetMB) << 20
	partitions := map[string][]table.FileScanTask{}
	var order []string
	for _, task := range tasks {
		key := fmt.Sprint(task.File.SpecID(), task.File.Partition())
		if partitions[key] == nil {
			order = append(order, key)
		}
		partitions[key] = append(partitions[key], task)
	}
	for _, key := range order {
		enough, deletes := m.SmallFiles, m.SmallFiles
		if l.closed(t, s, partitions[key][0].File) {
			enough, deletes = 2, 1
		}
		var g group
		flush := func() {
			forced := slices.ContainsFunc(g.tasks, func(t table.FileScanTask) bool { return len(t.EqualityDeleteFiles) >= deletes })
			if len(g.tasks) >= enough || forced {
				groups = append(groups, g)
			}
			g = group{}
		}
		files := partitions[key]
		slices.SortFunc(files, func(a, b table.FileScanTask) int { return cmp.Compare(a.File.FileSizeBytes(), b.File.FileSizeBytes()) })
		for _, task := range files {
			size := task.File.FileSizeBytes()
			if size >= target/4*3 && len(task.EqualityDeleteFiles) < deletes {
				continue
			}
			if g.bytes > 0 && g.bytes+size > target {
				flush()
			}
			g.tasks, g.bytes = append(g.tasks, task), g.bytes+size
		}
		flush()
	}
	return groups
}

// closed reports whether the day of a file's partition is over for good, but for stragglers.
func (l *Lake) closed(t *table.Table, s *shape, f iceberg.DataFile) bool {
	spec := t.Metadata().PartitionSpecByID(int(f.SpecID()))
	if spec == nil {
		return false
	}
	for _, field := range spec.Fields() {
		name, _ := t.Schema().FindColumnName(field.SourceID())
		day, ok := f.Partition()[field.FieldID].(iceberg.Date)
		if name != s.day || !ok {
			continue
		}
		end := time.Unix(0, 0).UTC().AddDate(0, 0, int(day)+1)
		return l.now().Sub(end) >= l.cfg.Maintenance.ClosedAfter
	}
	return false
}

// rewrite reads a group with its deletes applied, writes it sorted, and puts the new files in
// the place of the old.
//
// The new files take the sequence number of the snapshot that was read: deletes that are
// committed meanwhile apply to them as they would have to the old ones. So a commit of new
// rows need not wait for a compaction, nor a compaction start again because of one.
func (l *Lake) rewrite(ctx context.Context, t *table.Table, s *shape, g group, u *Upkeep) error {
	sequence := t.CurrentSnapshot().SequenceNumber
	files, err := l.sorted(ctx, t, g)
	if err != nil {
		l.remove(ctx, t, files)
		return fmt.Errorf("rewrite %d files: %w", len(g.tasks), err)
	}
	gone := map[string]struct{}{}
	for _, task := range g.tasks {
		gone[task.File.FilePath()] = struct{}{}
	}
	deletes := 0
	err = l.retry(ctx, s, func(t *table.Table) (*table.Transaction, error) {
		if err := stillThere(ctx, t, gone); err != nil {
			return nil, err
		}
		txn := t.NewTransaction()
		r := txn.NewRewrite(nil).DataSequenceNumber(sequence)
		for _, task := range g.tasks {
			r.DeleteFile(task.File)
		}
		for _, f := range files {
			r.AddDataFile(f)
		}
		dead, err := deadDeletes(ctx, t, gone, sequence)
		if err != nil {
			return nil, err
		}
		for _, f := range dead {
			r.DeleteFile(f)
		}
		deletes = len(dead)
		return txn, r.Commit(ctx)
	})
	if errors.Is(err, errTaken) {
		l.remove(ctx, t, files)
		l.log.Debug("another compaction was faster", "table", s.name)
		return nil
	}
	if err != nil {
		return fmt.Errorf("commit a compaction: %w", err)
	}
	u.FilesBefore += len(g.tasks)
	u.FilesAfter += len(files)
	u.Bytes += g.bytes
	u.Deletes += deletes
	return nil
}

var errTaken = errors.New("the files to compact are no longer in the table")

// stillThere fails with errTaken if somebody else has rewritten or removed one of the files.
func stillThere(ctx context.Context, t *table.Table, paths map[string]struct{}) error {
	tasks, err := t.Scan().PlanFiles(ctx)
	if err != nil {
		return err
	}
	n := 0
	for _, task := range tasks {
		if _, ok := paths[task.File.FilePath()]; ok {
			n++
		}
	}
	if n < len(paths) {
		return errTaken
	}
	return nil
}

// deadDeletes lists files of deletes that apply to nothing once the paths are gone. Those
// newer than what was read apply to the new files.
func deadDeletes(ctx context.Context, t *table.Table, gone map[string]struct{}, sequence int64) ([]iceberg.DataFile, error) {
	snap := t.CurrentSnapshot()
	fs, err := t.FS(ctx)
	if err != nil {
		return nil, err
	}
	dead, err := compaction.CollectDeadEqualityDeletesWithSpecs(ctx, fs, t.Metadata(), snap, gone)
	if err != nil || len(dead) == 0 {
		return nil, err
	}
	newer := map[string]bool{}
	manifests, err := snap.Manifests(fs)
	if err != nil {
		return nil, err
	}
	for _, m := range manifests {
		if m.ManifestContent() != iceberg.ManifestContentDeletes {
			continue
		}
		for e, err := range m.Entries(fs, true) {
			if err != nil {
				return nil, err
			}
			newer[e.DataFile().FilePath()] = e.SequenceNum() > sequence
		}
	}
	return slices.DeleteFunc(dead, func(f iceberg.DataFile) bool { return newer[f.FilePath()] }), nil
}

// sorted writes the rows of a group as files of the target size; within them runs of
// ChunkRows rows are sorted.
func (l *Lake) sorted(ctx context.Context, t *table.Table, g group) (files []iceberg.DataFile, err error) {
	scan := t.Scan(table.WithMaxConcurrency(1))
	defer scan.Close()
	schema, batches, err := scan.ReadTasks(ctx, g.tasks)
	if err != nil {
		return nil, err
	}
	options := []table.WriteRecordOption{table.WithClusteredWrite(), table.WithTargetFileSize(int64(l.cfg.Maintenance.TargetMB) << 20), table.WithRecordBatchBufferSize(1)}
	for f, err := range table.WriteRecords(ctx, t, schema, runs(batches, int64(l.cfg.ChunkRows)), options...) {
		if err != nil {
			return files, err
		}
		files = append(files, f)
	}
	return files, nil
}

// runs joins batches to such of at least so many rows: the writer sorts each.
func runs(batches iter.Seq2[arrow.RecordBatch, error], rows int64) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		var held []arrow.RecordBatch
		n := int64(0)
		give := func() bool {
			joined, err := join(held)
			held, n = nil, 0
			return yield(joined, err) && err == nil
		}
		for batch, err := range batches {
			if err != nil {
				for _, b := range held {
					b.Release()
				}
				yield(nil, err)
				return
			}
			held, n = append(held, batch), n+batch.NumRows()
			if n >= rows && !give() {
				return
			}
		}
		if len(held) > 0 {
			give()
		}
	}
}

// join makes one batch of several, which it gives up.
func join(batches []arrow.RecordBatch) (arrow.RecordBatch, error) {
	if len(batches) == 1 {
		return batches[0], nil
	}
	defer func() {
		for _, b := range batches {
			b.Release()
		}
	}()
	schema, rows := batches[0].Schema(), int64(0)
	columns := make([]arrow.Array, schema.NumFields())
	for _, b := range batches {
		rows += b.NumRows()
	}
	for i := range columns {
		parts := make([]arrow.Array, len(batches))
		for j, b := range batches {
			parts[j] = b.Column(i)
		}
		column, err := array.Concatenate(parts, memory.DefaultAllocator)
		if err != nil {
			return nil, fmt.Errorf("join column %s: %w", schema.Field(i).Name, err)
		}
		defer column.Release()
		columns[i] = column
	}
	return array.NewRecordBatch(schema, columns, rows), nil
}

// remove deletes files that no catalog was told of; what stays is found as orphaned.
func (l *Lake) remove(ctx context.Context, t *table.Table, files []iceberg.DataFile) {
	fs, err := t.FS(ctx)
	if err != nil {
		return
	}
	for _, f := range files {
		_ = fs.Remove(f.FilePath())
	}
}
