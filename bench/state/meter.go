package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"taximeter/actors/expression"
	"taximeter/actors/partition"
	"taximeter/actors/rule"
	"taximeter/bench/internal/traffic"
	"taximeter/checkpoint"
	"taximeter/checkpoint/objectstore"
	"taximeter/checkpoint/pebblestore"
	"taximeter/schemas"
	"taximeter/schemas/edge"
)

const ns = checkpoint.Namespace("bench")

// As a node has them by default.
const (
	idleSeals   = 10
	maxResident = 100_000
	cacheBytes  = 256 << 20
)

// meter is the parts of a node wired without Kafka and actors.
type meter struct {
	dir     string
	shared  *pebblestore.Shared
	objects *counted
	chain   *checkpoint.Chain
	tip     checkpoint.Manifest
	limits  checkpoint.Limits
	book    *rule.Book
	start   schemas.Millis
	parts   []*part
	stamps  int
	folders int
}

// part is one partition and its state.
type part struct {
	id      schemas.Partition
	dir     string
	p       *partition.Partition
	store   *pebblestore.Store
	next    [schemas.NumInputs]schemas.Offset
	waiting schemas.Batch
	number  checkpoint.SealNumber
}

// counted counts the bytes that are written.
type counted struct {
	checkpoint.Store
	written atomic.Int64
}

func (c *counted) Put(ctx context.Context, key string, body io.ReadSeeker) error {
	return c.Store.Put(ctx, key, c.count(body))
}

func (c *counted) PutIfAbsent(ctx context.Context, key string, body io.ReadSeeker) (checkpoint.Written, error) {
	return c.Store.PutIfAbsent(ctx, key, c.count(body))
}

func (c *counted) count(body io.ReadSeeker) io.ReadSeeker {
	at, err := body.Seek(0, io.SeekCurrent)
	end, err2 := body.Seek(0, io.SeekEnd)
	_, err3 := body.Seek(at, io.SeekStart)
	if errors.Join(err, err2, err3) == nil {
		c.written.Add(end - at)
	}
	return body
}

func newMeter(ctx context.Context, dir string, partitions int, start schemas.Millis) (*meter, error) {
	compile, err := expression.NewCompiler()
	if err != nil {
		return nil, err
	}
	m := &meter{dir: dir, start: start, limits: checkpoint.Limits{Retain: 20, MaxPending: 20},
		objects: &counted{Store: objectstore.NewFolder(filepath.Join(dir, "objects"))}}
	if m.book, err = rule.NewBook(traffic.Rules(start), compile); err != nil {
		return nil, err
	}
	cfg := pebblestore.Default()
	cfg.CacheBytes = cacheBytes
	m.shared = pebblestore.NewShared(cfg, slog.New(slog.DiscardHandler))
	m.chain = checkpoint.NewChain(m.objects, ns)
	if err := m.commit(ctx, checkpoint.Genesis(ns, [schemas.NumInputs]string{"t", "r", "p"}, make([]checkpoint.Offsets, partitions), m.stamp())); err != nil {
		return nil, err
	}
	changes := []checkpoint.Change{checkpoint.Join{Node: "bench"}}
	for id := range partitions {
		changes = append(changes, checkpoint.Start{Partition: schemas.Partition(id), Owner: "bench", Incarnation: 1})
	}
	next, err := checkpoint.Assign(m.tip, m.limits, m.stamp(), changes...)
	if err != nil {
		return nil, err
	}
	if err := m.commit(ctx, next); err != nil {
		return nil, err
	}
	for id := range partitions {
		pt, err := m.open(ctx, schemas.Partition(id))
		if err != nil {
			return nil, err
		}
		m.parts = append(m.parts, pt)
	}
	return m, nil
}

func (m *meter) stamp() checkpoint.Stamp {
	m.stamps++
	return checkpoint.Stamp{At: m.start, By: "bench", Token: strconv.Itoa(m.stamps)}
}

func (m *meter) commit(ctx context.Context, next checkpoint.Manifest) error {
	won, tip, err := m.chain.Commit(ctx, next)
	if err == nil && !won {
		err = errors.New("another wrote to the chain")
	}
	m.tip = tip
	return err
}

// open brings a partition back as the tip has it, into a folder of its own.
func (m *meter) open(ctx context.Context, id schemas.Partition, reuse ...pebblestore.Folder) (pt *part, err error) {
	m.folders++
	pt = &part{id: id, dir: filepath.Join(m.dir, "state", strconv.Itoa(m.folders)), number: m.tip.Entries[id].Seal}
	if err := os.MkdirAll(pt.dir, 0o755); err != nil {
		return nil, err
	}
	return pt, m.load(ctx, pt, reuse...)
}

func (m *meter) load(ctx context.Context, pt *part, reuse ...pebblestore.Folder) (err error) {
	if pt.store, err = pebblestore.Restore(ctx, m.objects, m.tip.Entries[pt.id].Files, filepath.Join(pt.dir, "live"), m.shared, reuse...); err != nil {
		return err
	}
	rows := rows{pt.store}
	head, found, err := pt.store.Get(partition.HeaderKey())
	switch {
	case err != nil:
		return err
	case found:
		pt.p, err = partition.Restore(head, pt.id, partition.Live, partition.DefaultSettings(), m.book, partition.Direct{}, rows, m.start)
		return err
	}
	pt.p = partition.New(pt.id, partition.Live, partition.DefaultSettings(), m.book, partition.Direct{}, rows, m.start)
	pt.p.SetLayout(partition.ByAge)
	for i, t := range traffic.Tariffs(m.start) {
		if err := pt.p.PutTariff(schemas.Offset(i), t); err != nil {
			return err
		}
	}
	return nil
}

// batch is how many records a partition takes at once.
const batch = 500

// take gives a record to its partition.
func (m *meter) take(l *edge.Line) error {
	pt := m.parts[schemas.PartitionOf(l.RecordKey(), len(m.parts))]
	pt.waiting.Records = append(pt.waiting.Records, schemas.Record{})
	r := &pt.waiting.Records[len(pt.waiting.Records)-1]
	l.Record(r)
	r.Offset = pt.next[r.Topic]
	pt.next[r.Topic]++
	if len(pt.waiting.Records) < batch {
		return nil
	}
	return pt.consume(l.AppendedAt)
}

func (pt *part) consume(now schemas.Millis) error {
	err := pt.p.Consume(&pt.waiting, now)
	pt.waiting.Records = pt.waiting.Records[:0]
	pt.p.Acknowledge(len(pt.p.Unsent()))
	return err
}

func (m *meter) flush() error {
	var errs []error
	for _, pt := range m.parts {
		errs = append(errs, pt.consume(pt.p.Watermark()))
	}
	return errors.Join(errs...)
}

// remembered are the events that the state holds: those that had any effect, since the whole
// run is within the day that they are kept.
func (m *meter) remembered() (n int64) {
	for _, pt := range m.parts {
		v := pt.p.Ledger().Verdicts
		n += v[schemas.Counted] + v[schemas.Late] + v[schemas.Rectified]
	}
	return n
}

// cited are the bytes of state files that the tip cites.
func (m *meter) cited() (bytes int64) {
	for _, e := range m.tip.Entries {
		for _, f := range e.Files {
			bytes += f.Size
		}
	}
	return bytes
}

// made is one checkpoint's cost.
type made struct {
	took    time.Duration
	pauses  []time.Duration
	written int64
}

// checkpoint cuts all partitions, one after another as on one processor, brings their seals
// up beside that, and commits.
func (m *meter) checkpoint(ctx context.Context) (c made, err error) {
	before, began := m.objects.written.Load(), time.Now()
	seals, errs := make([]checkpoint.Seal, len(m.parts)), make([]error, len(m.parts))
	var sealing sync.WaitGroup
	for i, pt := range m.parts {
		seals[i] = checkpoint.NewSeal(m.tip, pt.id, pt.number)
		pt.number = seals[i].Number
		cutting := time.Now()
		cut := pt.p.Seal(int64(pt.number))
		c.pauses = append(c.pauses, time.Since(cutting))
		sealing.Go(func() { errs[i] = m.seal(ctx, pt, cut, &seals[i]) })
	}
	sealing.Wait()
	if err := errors.Join(errs...); err != nil {
		return c, err
	}
	published := make(map[schemas.Partition]checkpoint.Number)
	for _, pt := range m.parts {
		published[pt.id] = m.tip.Number
	}
	next, rejected := checkpoint.NextCheckpoint(m.tip, seals, published, m.limits, m.stamp())
	if len(rejected) > 0 {
		return c, fmt.Errorf("seal refused: %s", rejected[0])
	}
	if err := m.commit(ctx, next); err != nil {
		return c, err
	}
	c.took, c.written = time.Since(began), m.objects.written.Load()-before
	for _, pt := range m.parts {
		pt.p.Committed(int64(pt.number))
		pt.p.Sweep(idleSeals, maxResident)
	}
	if _, err := m.chain.Collect(ctx); err != nil {
		return c, err
	}
	return c, nil
}

// seal writes a cut to the local store, uploads what is new and offers it.
func (m *meter) seal(ctx context.Context, pt *part, cut partition.Sealed, seal *checkpoint.Seal) error {
	b := pt.store.NewBatch()
	for _, c := range cut.Changes {
		if c.Value == nil {
			b.Delete(c.Key)
		} else {
			b.Put(c.Key, c.Value)
		}
	}
	if err := pt.store.Apply(ctx, b); err != nil {
		return err
	}
	snapshot, err := pt.store.Checkpoint(filepath.Join(pt.dir, "snapshot"))
	if err != nil {
		return err
	}
	up, err := snapshot.Upload(ctx, m.objects, ns, seal.Place(), m.tip.Entries[pt.id].Files)
	if err = errors.Join(err, snapshot.Remove()); err != nil {
		return err
	}
	if !cut.Outbox.Empty() {
		seal.Outbox.File, err = checkpoint.WriteFile(ctx, m.objects, checkpoint.EncodeOutbox(cut.Outbox, m.tip.Speaks()),
			func(sum string) string { return ns.Outbox(seal.Place(), sum) })
		if err != nil {
			return err
		}
	}
	seal.Next, seal.Watermark, seal.Files = checkpoint.Offsets(cut.Next), cut.Watermark, up.Files
	return checkpoint.Offer(ctx, m.objects, *seal)
}

// source is where a recovery finds files.
type source func(*part) []pebblestore.Folder

// withLocalFiles finds them in the folder of the run before.
func withLocalFiles(pt *part) []pebblestore.Folder {
	return []pebblestore.Folder{{Dir: filepath.Join(pt.dir, "live")}}
}

// recover brings all partitions back at once, as after a crash, and takes their place.
func (m *meter) recover(ctx context.Context, sources ...source) (time.Duration, error) {
	before := m.parts
	for _, pt := range before {
		if err := pt.store.Close(); err != nil {
			return 0, err
		}
	}
	m.parts = make([]*part, len(before))
	errs := make([]error, len(before))
	began := time.Now()
	var opening sync.WaitGroup
	for i, old := range before {
		m.folders++
		pt := &part{id: old.id, dir: filepath.Join(m.dir, "state", strconv.Itoa(m.folders)), number: old.number, next: old.next}
		m.parts[i] = pt
		opening.Go(func() {
			var reuse []pebblestore.Folder
			for _, s := range sources {
				reuse = append(reuse, s(old)...)
			}
			errs[i] = errors.Join(os.MkdirAll(pt.dir, 0o755), m.load(ctx, pt, reuse...))
		})
	}
	opening.Wait()
	took := time.Since(began)
	for _, old := range before {
		errs = append(errs, os.RemoveAll(old.dir))
	}
	return took, errors.Join(errs...)
}

func (m *meter) close() error {
	var errs []error
	for _, pt := range m.parts {
		if pt.store != nil { // else its recovery failed
			errs = append(errs, pt.store.Close())
		}
	}
	m.shared.Close()
	return errors.Join(errs...)
}

// rows is the local store as a partition reads it.
type rows struct{ store *pebblestore.Store }

func (r rows) Get(key []byte) ([]byte, bool, error) { return r.store.Get(key) }

var errEnough = errors.New("enough")

func (r rows) Due(from partition.DueTrip, upTo schemas.Millis, limit int) ([]partition.DueTrip, error) {
	var due []partition.DueTrip
	err := r.store.ScanRange(partition.DueKey(from), partition.DueKey(partition.DueTrip{Due: upTo.Add(1)}), func(key, _ []byte) error {
		if len(due) == limit {
			return errEnough
		}
		d, ok := partition.ParseDueKey(key)
		if !ok {
			return fmt.Errorf("row %q is no timer", key)
		}
		due = append(due, d)
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return due, err
}
