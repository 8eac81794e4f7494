package reconcile

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"

	"taximeter/actors/partition"
	"taximeter/checkpoint"
	"taximeter/checkpoint/pebblestore"
	"taximeter/cmd/internal/operator"
	"taximeter/cmd/internal/scan"
	"taximeter/internal/access"
	"taximeter/schemas"
	"taximeter/schemas/registry"
	"taximeter/sinks"
	"taximeter/sinks/analytics"
	"taximeter/sinks/iceberg"
)

// Options say what is compared with what.
type Options struct {
	From, Until schemas.Millis // trips that ended in [From, Until)
	Store       checkpoint.Store
	Tip         checkpoint.Manifest
	Kafka       access.Kafka
	Registry    *registry.Client
	Scratch     string // folder for the state of one partition at a time
	Log         *slog.Logger

	Lake      Lake      // nil = not compared
	Analytics Analytics // nil = not compared
}

// Lake is what the lake says of the offsets.
type Lake interface {
	Progress(context.Context) (sinks.Progress, error)
	Stretches(context.Context, func(iceberg.Stretch) error) error
}

// Analytics is what the analytical table says of trips.
type Analytics interface {
	Progress(context.Context) (sinks.Progress, error)
	Trips(context.Context) iter.Seq2[analytics.Trip, error]
}

// Run compares, partition by partition: a trip's events are all in one.
func Run(ctx context.Context, o Options) (*Report, error) {
	r := &Report{Namespace: o.Tip.Namespace, Checkpoint: o.Tip.Number, From: o.From, Until: o.Until, Trips: map[string]int{}, Money: map[string]Money{}, Differences: []Difference{}}
	run := running{Options: o, report: r, payments: newPayments(&o), bills: make(map[schemas.TripID]billed)}
	run.shared = pebblestore.NewShared(pebblestore.Default(), o.Log)
	defer run.shared.Close()
	for _, t := range schemas.Inputs {
		bounds, err := scan.Bounds(ctx, o.Kafka, t.String())
		if err != nil {
			return nil, err
		}
		run.bounds[t] = bounds
	}
	for p, e := range o.Tip.Entries {
		if err := run.partition(ctx, schemas.Partition(p), e); err != nil {
			return nil, fmt.Errorf("partition %d: %w", p, err)
		}
	}
	if err := run.lake(ctx); err != nil {
		return nil, err
	}
	if err := run.analytics(ctx); err != nil {
		return nil, err
	}
	return r, nil
}

type running struct {
	Options
	report   *Report
	shared   *pebblestore.Shared
	payments *payments
	bounds   [schemas.NumInputs]map[int32]scan.Extent
	bills    map[schemas.TripID]billed // of the trips compared, for the analytical table
}

// billed is a trip's newest public bill and where the trip lies.
type billed struct {
	partition schemas.Partition
	version   int
	amount    schemas.Cents
}

func (r *running) partition(ctx context.Context, p schemas.Partition, e checkpoint.Entry) (err error) {
	state := cut{partition: p, watermark: e.Watermark}
	if len(e.Files) > 0 { // else nothing was ever consumed
		dir := filepath.Join(r.Scratch, strconv.Itoa(int(p)))
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		store, err := pebblestore.Restore(ctx, r.Store, e.Files, dir, r.shared)
		if err != nil {
			return err
		}
		defer func() { _ = store.Close() }() // it was only read
		state.store = &operator.TripReader{Store: store}
		if err := r.consumed(p, e, &state); err != nil {
			return err
		}
	}
	r.logs(p, e)
	ledger, err := r.payments.of(ctx, p, e)
	if err != nil {
		return err
	}
	return r.trips(ledger, &state)
}

// cut is a partition's state at its entry.
type cut struct {
	partition schemas.Partition
	watermark schemas.Millis
	store     *operator.TripReader // nil = empty
	standing  partition.Standing
}

// consumed checks that every offset has a verdict.
func (r *running) consumed(p schemas.Partition, e checkpoint.Entry, state *cut) error {
	head, found, err := state.store.Get(partition.HeaderKey())
	if err != nil {
		return err
	}
	if !found {
		return errors.New("its state has no header; see taximeter checkpoint verify")
	}
	if state.standing, err = partition.ReadHeader(head, p); err != nil {
		return err
	}
	out := Partition{Partition: p, verdicts: state.standing.Ledger.Verdicts, Next: e.Next}
	for t, pos := range state.standing.Positions {
		out.Offsets += int64(pos.Next - pos.First)
		out.Control += pos.Control
		out.Skipped += pos.Skipped
		out.first[t] = pos.First
		if stands := e.Stands()[t]; pos.Next != stands {
			r.report.differ(kindVerdicts, p, "", "the state stands at offset %d of %s, the manifest at %d", pos.Next, schemas.Topic(t), stands)
		}
	}
	for _, n := range out.verdicts {
		out.Records += n
	}
	if n := state.standing.Imbalance(); n != 0 {
		r.report.differ(kindVerdicts, p, "", "%d of %d offsets have no verdict", n, out.Offsets)
	}
	r.report.Partitions = append(r.report.Partitions, out)
	return nil
}
