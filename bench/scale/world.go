package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"taximeter/actors/expression"
	"taximeter/actors/host"
	"taximeter/actors/partition"
	"taximeter/actors/rule"
	"taximeter/bench/internal/rig"
	"taximeter/bench/internal/traffic"
	"taximeter/checkpoint"
	"taximeter/checkpoint/objectstore"
	"taximeter/checkpoint/pebblestore"
	"taximeter/schemas"
)

// world is the owners of some partitions, with stores and checkpoints in a temporary folder.
type world struct {
	dir     string
	shared  *pebblestore.Shared
	objects *objectstore.Folder
	system  *actor.ActorSystem
	owners  []*owner
	seals   checkpoint.SealNumber
}

// owner is one partition's, and what stands around it.
type owner struct {
	w         *world
	partition schemas.Partition
	pid       *actor.PID
	stats     atomic.Pointer[host.Stats]
	store     *pebblestore.Store
	taken     int
	files     []checkpoint.File // of the last checkpoint
	offsets   [schemas.NumInputs]schemas.Offset
	failed    chan error
}

// inWorld runs an experiment with so many partitions.
func inWorld(partitions int, experiment func(*world) error) (err error) {
	w := &world{system: actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return slog.New(slog.DiscardHandler) }))}
	if w.dir, err = os.MkdirTemp("", "taximeter-scale-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	w.objects = objectstore.NewFolder(filepath.Join(w.dir, "objects"))
	w.shared = pebblestore.NewShared(pebblestore.Default(), slog.New(slog.DiscardHandler))
	compile, err := expression.NewCompiler()
	if err != nil {
		return err
	}
	book, err := rule.NewBook(traffic.Rules(start), compile)
	if err != nil {
		return err
	}
	for p := range partitions {
		if err := w.add(schemas.Partition(p), book); err != nil {
			return err
		}
	}
	return experiment(w)
}

func (w *world) add(p schemas.Partition, book *rule.Book) (err error) {
	o := &owner{w: w, partition: p, failed: make(chan error, 1)}
	if o.store, err = pebblestore.Open(filepath.Join(w.dir, "state-"+strconv.Itoa(int(p))), w.shared); err != nil {
		return err
	}
	w.owners = append(w.owners, o)
	now := func() schemas.Millis { return start }
	o.pid, err = w.system.Root.SpawnNamed(host.NewOwner(host.Spec{Partition: p, State: o, Source: o, Outlet: o, Now: now,
		Log: slog.New(slog.DiscardHandler), Failed: func(err error) { o.failed <- err }, IdleSeals: func() int64 { return 1 << 40 }, MaxResident: 1 << 40,
		Build: func(r partition.Runner) (*partition.Partition, error) {
			part := partition.New(p, partition.Live, partition.DefaultSettings(), book, r, o, start)
			for i, t := range traffic.Tariffs(start) {
				if err := part.PutTariff(schemas.Offset(i), t); err != nil {
					return nil, err
				}
			}
			return part, nil
		}}, &o.stats), fmt.Sprintf("partition-%d", p))
	return err
}

func (w *world) close() error {
	var errs []error
	for _, o := range w.owners {
		errs = append(errs, w.system.Root.StopFuture(o.pid).Wait(), o.store.Close())
	}
	w.shared.Close()
	w.system.Shutdown()
	return errors.Join(append(errs, os.RemoveAll(w.dir))...)
}

func (o *owner) next(t schemas.Topic) schemas.Offset {
	o.offsets[t]++
	return o.offsets[t] - 1
}

// deliver gives the owner records and waits until it has applied them.
func (o *owner) deliver(records []schemas.Record) error {
	applied := make(chan struct{})
	o.w.system.Root.Send(o.pid, &host.Delivery{Pieces: slices.Values([]*schemas.Batch{{Partition: o.partition, Records: records}}), Release: func() { close(applied) }})
	select {
	case <-applied:
		return nil
	case err := <-o.failed:
		return err
	}
}

// checkpointed is what a checkpoint of all partitions took.
type checkpointed struct {
	wall, cpu time.Duration
	bytes     int64           // uploaded
	pauses    []time.Duration // of the owners
}

// checkpoint seals all partitions at once and uploads their files, as the coordinator lets
// the owners do; what it does beside that is one small put.
func (w *world) checkpoint() (c checkpointed, err error) {
	stop := rig.Meter()
	w.seals++
	type answer struct {
		o   *owner
		cut host.Cut
		err error
	}
	answers := make(chan answer, len(w.owners))
	turns := host.NewTurns()
	for _, o := range w.owners {
		go func() {
			over, err := turns.Take(context.Background())
			if err != nil {
				answers <- answer{o, host.Cut{}, err}
				return
			}
			w.system.Root.Send(o.pid, &host.SealRequest{Number: w.seals, Layout: partition.ByAge, Done: func(cut host.Cut, err error) {
				over()
				answers <- answer{o, cut, err}
			}})
		}()
	}
	for range w.owners {
		a := <-answers
		if a.err != nil {
			return c, a.err
		}
		if !a.cut.Unchanged {
			bytes, err := a.o.upload(a.cut)
			if err != nil {
				return c, err
			}
			c.bytes += bytes
		}
		w.system.Root.Send(a.o.pid, &host.Committed{Number: w.seals})
		c.pauses = append(c.pauses, a.o.stats.Load().SealPause)
	}
	u := stop()
	c.wall, c.cpu = u.Wall, u.CPU()
	return c, nil
}

func (o *owner) upload(cut host.Cut) (int64, error) {
	snapshot := cut.Snapshot.(*pebblestore.Snapshot)
	up, err := snapshot.Upload(context.Background(), o.w.objects, "bench", checkpoint.Place{Partition: o.partition, Epoch: 1, Seal: o.w.seals}, o.files)
	if err != nil {
		return 0, err
	}
	o.files = up.Files
	return up.NewBytes, snapshot.Remove()
}

// The owner's State: trips never leave memory here, so none is ever asked for but as new.

func (o *owner) Get(key []byte) ([]byte, bool, error) { return o.store.Get(key) }

func (o *owner) Due(partition.DueTrip, schemas.Millis, int) ([]partition.DueTrip, error) {
	return nil, nil
}

func (o *owner) Apply(changes []partition.Change) error {
	bytes := 0
	for _, c := range changes {
		bytes += len(c.Key) + len(c.Value)
	}
	b := o.store.NewBatchOf(len(changes), bytes)
	for _, c := range changes {
		if c.Value == nil {
			b.Delete(c.Key)
		} else {
			b.Put(c.Key, c.Value)
		}
	}
	return o.store.Apply(context.Background(), b)
}

func (o *owner) Snapshot() (host.Snapshot, error) {
	o.taken++
	return o.store.Checkpoint(filepath.Join(o.w.dir, fmt.Sprintf("snapshot-%d-%d", o.partition, o.taken)))
}

// Its Source and its Outlet.

func (o *owner) Status([schemas.NumInputs]schemas.Offset) (s [schemas.NumInputs]partition.SourceStatus) {
	return s
}
func (o *owner) Hold(schemas.Topic, bool) {}
func (o *owner) Alerts(_ []schemas.Alert, done func(schemas.Offset)) {
	done(0)
}

// heapInUse is what is alive, in bytes.
func heapInUse() int64 {
	runtime.GC()
	runtime.GC() // what pools held on to
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func mb(bytes int64) float64 { return float64(bytes) / (1 << 20) }

// percentiles of pauses, in milliseconds.
func percentiles(pauses []time.Duration) (p99, most float64) {
	if len(pauses) == 0 {
		return 0, 0
	}
	slices.Sort(pauses)
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	return ms(pauses[(len(pauses)*99+99)/100-1]), ms(pauses[len(pauses)-1])
}
