package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/actors/partition"
	"taximeter/checkpoint"
	"taximeter/checkpoint/pebblestore"
	"taximeter/cluster/admin"
	desk "taximeter/cmd/internal/operator"
	"taximeter/schemas"
)

// duty checks that of every partition at most one owner at a time got anything durable
// through: by the chain of manifests, and by the log of what was published.
type duty struct {
	store checkpoint.Store
	dir   string
}

const dutyNamespace = checkpoint.Namespace("chaos")

// standing reads from the last checkpoint where every partition stands.
func (d *duty) standing(ctx context.Context) ([]admin.PartitionStatus, error) {
	tip, err := checkpoint.NewChain(d.store, dutyNamespace).Tip(ctx)
	if err != nil {
		return nil, err
	}
	shared := pebblestore.NewShared(pebblestore.Default(), slog.New(slog.DiscardHandler))
	defer shared.Close()
	all := make([]admin.PartitionStatus, len(tip.Entries))
	for p, e := range tip.Entries {
		st, err := pebblestore.Restore(ctx, d.store, e.Files, filepath.Join(d.dir, "last", strconv.Itoa(p)), shared)
		if err != nil {
			return nil, err
		}
		head, found, err := st.Get(partition.HeaderKey())
		if err := st.Close(); err != nil {
			return nil, err
		}
		if err != nil || !found {
			return nil, fmt.Errorf("partition %d has no header: %w", p, err)
		}
		s, err := partition.ReadHeader(head, schemas.Partition(p))
		if err != nil {
			return nil, err
		}
		all[p] = admin.PartitionStatus{Partition: schemas.Partition(p), Verdicts: make(map[string]int64)}
		for v, n := range s.Ledger.Verdicts {
			if n > 0 {
				all[p].Verdicts[schemas.Verdict(v).String()] = n
			}
		}
		for t, pos := range s.Positions {
			all[p].FirstOffset[t], all[p].NextOffset[t] = pos.First, pos.Next
			all[p].Control += pos.Control
		}
	}
	return all, nil
}

// lineage is what the chain says of one partition.
type lineage struct {
	made      map[checkpoint.Number]checkpoint.NodeID // by whom, of every entry
	outboxes  map[checkpoint.Number]checkpoint.OutboxRef
	published []checkpoint.Number // markers, in log order
}

// check reads the whole chain, then the topics.
func (d *duty) check(ctx context.Context, client []kgo.Opt, res *Result) error {
	chain := checkpoint.NewChain(d.store, dutyNamespace)
	tip, err := chain.Tip(ctx)
	if err != nil {
		return err
	}
	lines := make([]lineage, len(tip.Entries))
	for p := range lines {
		lines[p] = lineage{made: make(map[checkpoint.Number]checkpoint.NodeID), outboxes: make(map[checkpoint.Number]checkpoint.OutboxRef)}
	}
	before, err := chain.Read(ctx, 1)
	if err != nil {
		return err
	}
	for n := checkpoint.Number(2); n <= tip.Number; n++ {
		m, err := chain.Read(ctx, n)
		if err != nil {
			return err
		}
		for p := range m.Entries {
			lines[p].follow(before, m, schemas.Partition(p), res)
		}
		before = m
	}
	if err := d.topics(ctx, client, lines, res); err != nil {
		return err
	}
	for p, l := range lines {
		if pending := tip.Entries[p].Pending; len(pending) > 0 {
			res.find(&res.Missing, "partition %d: %d outboxes were never published", p, len(pending))
		}
		for _, n := range slices.Sorted(maps.Keys(l.outboxes)) {
			if slices.Contains(l.published, n) {
				continue
			}
			// What only tables read leaves no marker.
			if o, err := desk.ReadOutbox(ctx, d.store, l.outboxes[n]); err != nil {
				res.find(&res.Missing, "partition %d: the outbox of manifest %d has no marker, and cannot be read: %v", p, n, err)
			} else if !o.Silent() {
				res.find(&res.Missing, "partition %d: the outbox of manifest %d has no marker", p, n)
			}
		}
	}
	return nil
}

// follow checks one step of the chain for one partition.
func (l *lineage) follow(before, m checkpoint.Manifest, p schemas.Partition, res *Result) {
	a, b := before.Entries[p], m.Entries[p]
	if b.Epoch != a.Epoch && b.Epoch != a.Epoch+1 || b.Epoch == a.Epoch && (b.Owner != a.Owner || b.Incarnation != a.Incarnation) ||
		b.Epoch > a.Epoch && b.Owner != "" && b.Incarnation == a.Incarnation {
		res.find(&res.Differing, "manifest %d, partition %d: run (%s, epoch %d, incarnation %d) follows (%s, epoch %d, incarnation %d)",
			m.Number, p, b.Owner, b.Epoch, b.Incarnation, a.Owner, a.Epoch, a.Incarnation)
	}
	if b.Made == a.Made {
		return
	}
	if b.Made != m.Number || a.Owner == "" || m.CreatedBy != a.Owner || b.First != a.Next {
		res.find(&res.Differing, "manifest %d by %s, partition %d: an entry made %d from offsets %v follows one of owner %q that ends at %v",
			m.Number, m.CreatedBy, p, b.Made, b.First, a.Owner, a.Next)
	}
	l.made[b.Made] = m.CreatedBy
	if n := len(b.Pending); n > 0 && b.Pending[n-1].Made == b.Made {
		l.outboxes[b.Made] = b.Pending[n-1]
	}
}

// sender is who wrote a record of a transaction, as the broker knows it.
type sender struct {
	id    int64
	epoch int16
}

// topics reads what is public with its headers.
func (d *duty) topics(ctx context.Context, opts []kgo.Opt, lines []lineage, res *Result) error {
	results := make([]map[checkpoint.Number]sender, len(lines)) // by made, of the first record
	senders := make([]sender, len(lines))                       // of the newest marker
	for p := range results {
		results[p] = make(map[checkpoint.Number]sender)
	}
	for _, topic := range []string{schemas.TopicPayments, schemas.TopicWindows, schemas.TopicDLQ, schemas.TopicCommits} {
		err := each(ctx, opts, topic, func(r *kgo.Record) {
			by := sender{r.ProducerID, r.ProducerEpoch}
			l := &lines[r.Partition]
			if topic == schemas.TopicCommits {
				d.marker(r, by, l, results[r.Partition], &senders[r.Partition], res)
				return
			}
			made, ours := madeOf(r)
			if !ours {
				return
			}
			if _, known := l.made[made]; !known {
				res.find(&res.Differing, "%s/%d/%d was made by manifest %d, which made no entry of the partition", topic, r.Partition, r.Offset, made)
			}
			if first, seen := results[r.Partition][made]; seen && first != by {
				res.find(&res.Duplicated, "%s/%d/%d: results of manifest %d were sent by two senders, %v and %v", topic, r.Partition, r.Offset, made, first, by)
			}
			results[r.Partition][made] = by
		})
		if err != nil {
			return fmt.Errorf("read %s: %w", topic, err)
		}
	}
	return nil
}

// marker checks one marker against those before it and the results that it is of.
func (d *duty) marker(r *kgo.Record, by sender, l *lineage, results map[checkpoint.Number]sender, last *sender, res *Result) {
	var m struct {
		Made checkpoint.Number `json:"made"`
	}
	if err := json.Unmarshal(r.Value, &m); err != nil {
		res.find(&res.Differing, "marker %d/%d: %s", r.Partition, r.Offset, err)
		return
	}
	if n := len(l.published); n > 0 && l.published[n-1] >= m.Made {
		res.find(&res.Duplicated, "partition %d: marker %d follows marker %d", r.Partition, m.Made, l.published[n-1])
	}
	l.published = append(l.published, m.Made)
	if _, ok := l.outboxes[m.Made]; !ok {
		res.find(&res.Differing, "partition %d: marker %d is of no outbox in the chain", r.Partition, m.Made)
	}
	if sent, ok := results[m.Made]; ok && sent != by {
		res.find(&res.Duplicated, "partition %d: results of manifest %d were sent by %v and their marker by %v", r.Partition, m.Made, sent, by)
	}
	if last.id == by.id && last.epoch > by.epoch {
		res.find(&res.Duplicated, "partition %d: marker %d was sent by a fenced sender: %v after %v", r.Partition, m.Made, by, *last)
	}
	*last = by
}

func madeOf(r *kgo.Record) (made checkpoint.Number, ours bool) {
	for _, h := range r.Headers {
		if h.Key == schemas.HeaderCheckpoint {
			n, err := strconv.ParseInt(string(h.Value), 10, 64)
			return checkpoint.Number(n), err == nil
		}
	}
	return 0, false
}

// each gives the committed records of a topic, as of now, in log order per partition.
func each(ctx context.Context, opts []kgo.Opt, topic string, take func(*kgo.Record)) error {
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(), kgo.FetchMaxWait(time.Second)}, opts...)...)
	if err != nil {
		return err
	}
	defer client.Close()
	ends, err := kadm.NewClient(client).ListCommittedOffsets(ctx, topic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return err
	}
	left, from := make(map[int32]int64), make(map[int32]kgo.Offset)
	ends.Each(func(e kadm.ListedOffset) {
		if e.Offset > 0 {
			left[e.Partition], from[e.Partition] = e.Offset, kgo.NewOffset().AtStart()
		}
	})
	client.AddConsumePartitions(map[string]map[int32]kgo.Offset{topic: from})
	for len(left) > 0 {
		fetches := client.PollFetches(ctx)
		if errs := fetches.Errors(); len(errs) > 0 {
			return errs[0].Err
		}
		for records := fetches.RecordIter(); !records.Done(); {
			r := records.Next()
			if r.Offset+1 >= left[r.Partition] {
				delete(left, r.Partition)
			}
			if !r.Attrs.IsControl() {
				take(r)
			}
		}
	}
	return nil
}
