package ingest

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/schemas"
)

// Entry is one record of a catalogue topic. Key and Value are the receiver's.
type Entry struct {
	Offset     schemas.Offset
	At         time.Time
	Key, Value []byte // Value nil = the key was deleted
}

// Catalogue follows a compacted topic of one partition, such as tariffs or rules.
type Catalogue struct {
	Client []kgo.Opt // how to reach the brokers: seeds, TLS, SASL, dialer, logger
	Topic  string
	Each   func(Entry) error // an error ends Follow
	// CaughtUp is called once, when all that was there at the start has been given to Each.
	CaughtUp func()
}

// Follow gives every entry to Each, in offset order, until ctx ends, Each fails or the
// log cannot be read on.
func (c Catalogue) Follow(ctx context.Context) error {
	client, err := kgo.NewClient(append([]kgo.Opt{
		kgo.DisableClientMetrics(),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.KeepControlRecords(), // the last record may be a transaction's marker
		kgo.FetchMaxWait(fetchMaxWait),
	}, c.Client...)...)
	if err != nil {
		return fmt.Errorf("follow %s: %w", c.Topic, err)
	}
	defer client.Close()
	start, end, err := c.bounds(ctx, kadm.NewClient(client))
	if err != nil {
		return fmt.Errorf("follow %s: %w", c.Topic, err)
	}
	caughtUp := start >= end
	if caughtUp {
		c.CaughtUp()
	}
	client.AddConsumePartitions(map[string]map[int32]kgo.Offset{c.Topic: {0: kgo.NewOffset().At(start)}})
	for {
		fetches := client.PollFetches(ctx)
		for _, fault := range fetches.Errors() {
			return fmt.Errorf("follow %s: %w", c.Topic, fault.Err)
		}
		for records := fetches.RecordIter(); !records.Done(); {
			r := records.Next()
			if !r.Attrs.IsControl() {
				if err := c.Each(Entry{schemas.Offset(r.Offset), r.Timestamp, r.Key, r.Value}); err != nil {
					return fmt.Errorf("follow %s: offset %d: %w", c.Topic, r.Offset, err)
				}
			}
			if !caughtUp && r.Offset+1 >= end {
				caughtUp = true
				c.CaughtUp()
			}
		}
	}
}

// bounds are the offsets [start, end) of the log. Catalogues have one partition: with
// more, versions of one entry could be read in another order than they were written.
func (c Catalogue) bounds(ctx context.Context, admin *kadm.Client) (start, end int64, err error) {
	starts, err := admin.ListStartOffsets(ctx, c.Topic)
	if err != nil {
		return 0, 0, err
	}
	ends, err := admin.ListEndOffsets(ctx, c.Topic)
	if err != nil {
		return 0, 0, err
	}
	if n := len(ends[c.Topic]); n != 1 {
		return 0, 0, fmt.Errorf("the topic has %d partitions and must have 1: create it with one partition, cleanup.policy=compact", n)
	}
	first, _ := starts.Lookup(c.Topic, 0)
	last, _ := ends.Lookup(c.Topic, 0)
	if first.Err != nil {
		return 0, 0, first.Err
	}
	return first.Offset, last.Offset, last.Err
}
