package webhook

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/internal/topics"
	"taximeter/schemas"
)

// commitTimeout bounds the commit before partitions are handed over.
const commitTimeout = 5 * time.Second

// prepare makes sure of the topic for what nobody took, and lets a group that never ran
// begin at the end of the log: nobody wants to be told last week's alerts.
func (d *Deliverer) prepare(ctx context.Context) error {
	// A client of its own: a member's joins as it is made, and then such a commit is refused.
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.DisableClientMetrics()}, d.o.Client...)...)
	if err != nil {
		return err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	_, err = topics.Ensure(ctx, admin, topics.Topic{Name: schemas.TopicUndelivered, Partitions: -1, Replicas: -1,
		Configs: map[string]string{"cleanup.policy": "delete", "retention.ms": fmt.Sprint((30 * 24 * time.Hour).Milliseconds())}})
	if err != nil {
		return err
	}
	group := Group(d.o.Namespace)
	have, err := admin.FetchOffsets(ctx, group)
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) {
		return fmt.Errorf("offsets of group %s: %w", group, err)
	}
	if len(have.KOffsets()[schemas.TopicAlerts]) > 0 {
		return nil
	}
	ends, err := admin.ListEndOffsets(ctx, schemas.TopicAlerts)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return fmt.Errorf("end of %s: %w", schemas.TopicAlerts, err)
	}
	// Refused when another member is faster: then it has begun, and did the same.
	err = admin.CommitAllOffsets(ctx, group, ends.Offsets())
	if err != nil && !errors.Is(err, kerr.UnknownMemberID) {
		return fmt.Errorf("offsets of group %s: %w", group, err)
	}
	return nil
}

func (d *Deliverer) assigned(ctx context.Context, _ *kgo.Client, all map[string][]int32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, id := range all[schemas.TopicAlerts] {
		where := map[string][]int32{schemas.TopicAlerts: {id}}
		p := newPartition(d.cfg.Budget, func(r *kgo.Record) { d.client.MarkCommitRecords(r) }, func(hold bool) {
			if hold {
				d.client.PauseFetchPartitions(where)
			} else {
				d.client.ResumeFetchPartitions(where)
			}
		})
		ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
		p.stop = stop
		p.running.Go(func() { d.take(ctx, p) })
		d.partitions[id] = p
	}
}

// revoked waits for the attempts under way, so that the next owner does not repeat them.
func (d *Deliverer) revoked(ctx context.Context, client *kgo.Client, all map[string][]int32) {
	d.end(all)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	defer cancel()
	if err := client.CommitMarkedOffsets(ctx); err != nil {
		d.o.Log.Warn("alerts were delivered and their offsets not committed; some will be sent again, under the same key", "err", err)
	}
}

func (d *Deliverer) lost(_ context.Context, _ *kgo.Client, all map[string][]int32) { d.end(all) }

func (d *Deliverer) end(all map[string][]int32) {
	d.mu.Lock()
	var ended []*partition
	for _, id := range all[schemas.TopicAlerts] {
		if p := d.partitions[id]; p != nil {
			p.stop()
			delete(d.partitions, id)
			ended = append(ended, p)
		}
	}
	d.mu.Unlock()
	for _, p := range ended {
		p.running.Wait()
		for _, l := range p.lanes {
			d.metrics.waiting.WithLabelValues(l.channel.Name).Sub(float64(len(l.queue) + l.undone))
		}
	}
	d.client.ResumeFetchPartitions(all) // the client remembers a pause beyond the assignment
}
