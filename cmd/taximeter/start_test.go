package main

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"taximeter/actors/ingest"
	"taximeter/checkpoint"
	"taximeter/cluster/node"
)

// silent is a store that gives no state of a partition before the node has shown its life.
type silent struct {
	checkpoint.Store
	beats  atomic.Bool // heartbeats count
	beaten chan struct{}
}

func (s *silent) Put(ctx context.Context, key string, body io.ReadSeeker) error {
	err := s.Store.Put(ctx, key, body)
	if strings.Contains(key, "/node/") && s.beats.CompareAndSwap(true, false) {
		close(s.beaten)
	}
	return err
}

func (s *silent) Get(ctx context.Context, key string) (checkpoint.Object, error) {
	if strings.Contains(key, "/part/") {
		select {
		case <-s.beaten:
		case <-ctx.Done():
			return checkpoint.Object{}, ctx.Err()
		}
	}
	return s.Store.Get(ctx, key)
}

// While a node fetches its state, which may take minutes, others must see that it lives: they
// would take its partitions over, and it would begin anew elsewhere, again and again.
func TestANodeShowsItsLifeWhileItsPartitionsStart(t *testing.T) {
	x := newTown(t)
	x.cfg.Cluster.Listen, x.cfg.Cluster.Remote, x.cfg.Cluster.Bootstrap = "127.0.0.1:0", "127.0.0.1:0", true
	x.start()
	x.round()
	x.checkpoint()
	x.stop()
	x.cfg.Data = t.TempDir()
	slow := &silent{beaten: make(chan struct{})}
	slow.beats.Store(true)
	ctx, cancel := context.WithTimeout(x.ctx, waitFor)
	defer cancel()
	n, err := node.Start(ctx, x.cfg, node.Options{AppendTimes: ingest.AppendTimesFromRecords, Log: slog.New(slog.NewTextHandler(&x.log, nil)),
		Store: func(s checkpoint.Store) checkpoint.Store { slow.Store = s; return slow }})
	if err != nil {
		t.Fatalf("the node starts only after others could call it dead: %v", err)
	}
	x.node = n
}
