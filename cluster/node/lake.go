package node

import (
	"context"
	"errors"
	"fmt"

	"taximeter/sinks"
	"taximeter/sinks/iceberg"
)

// lake closes with what it reads from.
type lake struct {
	*iceberg.Lake
	source *iceberg.Kafka
	node   *Node
}

func (n *Node) openLake(ctx context.Context) (sinks.Sink, error) {
	source, err := iceberg.NewKafka(n.cfg.Kafka.Brokers, n.registry, n.cfg.Kafka.Options()...)
	if err != nil {
		return nil, err
	}
	l, err := iceberg.Open(ctx, n.cfg.Lake, n.ns, source, n.log)
	if err != nil {
		source.Close()
		return nil, err
	}
	if n.o.OnLakeStep != nil {
		l.OnStep(n.o.OnLakeStep)
	}
	return lake{l, source, n}, nil
}

func (l lake) Close() error {
	defer l.source.Close()
	return l.Lake.Close()
}

// keepUp implements keeper.
func (l lake) keepUp(ctx context.Context) error {
	done, err := l.Maintain(ctx)
	for _, u := range done {
		if !u.Idle() {
			l.node.log.Info("kept the lake in shape", "table", u.Table, "filesBefore", u.FilesBefore, "filesAfter", u.FilesAfter, "deletes", u.Deletes,
				"manifests", u.Manifests, "snapshots", u.Snapshots, "orphans", u.Orphans)
		}
	}
	if err != nil {
		return fmt.Errorf("maintenance: %w", err)
	}
	return nil
}

// keeper is a sink that whoever feeds it must keep in shape.
type keeper interface {
	keepUp(ctx context.Context) error
}

// keep maintains the sinks that this node feeds until the node ends, beside the commits.
func (n *Node) keep() {
	for n.sleep(keepEvery) {
		for _, t := range n.tables {
			k := t.keeper.Load()
			if k == nil || !t.status().Feeds {
				continue
			}
			if err := (*k).keepUp(n.ctx); err != nil && !errors.Is(err, context.Canceled) {
				n.log.Warn("a sink could not be maintained; it will be tried again", "sink", t.Name, "err", err)
			}
		}
	}
}
