package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"taximeter/actors/ingest"
	"taximeter/cluster"
	"taximeter/schemas"
)

// Why an input stands still until an operator decides, as /partitions and the metrics say it.
const (
	stoppedOutOfRange = "fora_do_intervalo"
	stoppedRecreated  = "topico_recriado"
	stoppedUnreadable = "ilegivel"
)

// stopReason tells why a lane stands still, and how many records are missing if that is
// known; "" when it goes on by itself.
func stopReason(err error) (reason string, missing int64) {
	if gap, ok := errors.AsType[*ingest.OutOfRangeError](err); ok {
		if gap.LogStart > gap.Wanted {
			missing = int64(gap.LogStart - gap.Wanted)
		}
		return stoppedOutOfRange, missing
	}
	if _, ok := errors.AsType[*ingest.TopicRecreatedError](err); ok {
		return stoppedRecreated, 0
	}
	if fault, ok := errors.AsType[*ingest.FetchError](err); ok && fault.Stopped {
		return stoppedUnreadable, 0
	}
	return "", 0
}

// stopped is why some input stands still until an operator decides; nil = none does.
func (n *Node) stopped() (why error) {
	if fault := n.inputFault.Load(); fault != nil {
		return *fault
	}
	n.eachStopped(func(_ schemas.Partition, _ schemas.Topic, l ingest.LaneStatus) { why = cmp.Or(why, l.Stopped) })
	return why
}

// stoppedInputs are those inputs, as our heartbeat tells them.
func (n *Node) stoppedInputs() (all []cluster.Stopped) {
	n.eachStopped(func(p schemas.Partition, topic schemas.Topic, l ingest.LaneStatus) {
		all = append(all, cluster.Stopped{Partition: p, Topic: topic, Next: l.Fetched})
	})
	return all
}

func (n *Node) eachStopped(visit func(schemas.Partition, schemas.Topic, ingest.LaneStatus)) {
	for _, t := range n.runs() {
		view := t.ends.Load()
		if view == nil {
			continue
		}
		for topic, l := range view.lanes {
			if reason, _ := stopReason(l.Stopped); reason != "" {
				visit(t.partition, schemas.Topic(topic), l)
			}
		}
	}
}

const topicsEvery = 5 * time.Second

// watchTopics looks whether the input topics are still cut into as many partitions. When
// they are not, a trip's next event may lie in another partition than its last: nothing
// more is read, since whatever came of it could be a second bill.
func (n *Node) watchTopics() {
	tick := time.NewTicker(topicsEvery)
	defer tick.Stop()
	for n.inputFault.Load() == nil {
		select {
		case <-tick.C:
			n.checkPartitions()
		case <-n.ctx.Done():
			return
		}
	}
}

func (n *Node) checkPartitions() {
	ctx, cancel := context.WithTimeout(n.ctx, topicsEvery)
	defer cancel()
	counts, err := n.source.PartitionCounts(ctx)
	if err != nil {
		return // fetches tell of brokers that do not answer
	}
	for topic, count := range counts {
		if count == n.partitions {
			continue
		}
		fault := fmt.Errorf("topic %s has %d partitions now, not %d: trips change partition, so nothing more is read; "+
			"move to topics of their own under a new namespace (docs/checkpoints.md)", schemas.Topic(topic), count, n.partitions)
		n.inputFault.Store(&fault)
		n.log.Error("input stands still", "err", fault)
		for _, t := range n.runs() {
			if err := n.source.Remove(t.partition); err != nil && !errors.Is(err, ingest.ErrClosed) {
				n.log.Error("partition cannot be stopped", "partition", t.partition, "err", err)
			}
		}
		return
	}
}
