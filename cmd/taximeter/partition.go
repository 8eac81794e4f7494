package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"

	"taximeter/checkpoint"
	"taximeter/cluster"
	"taximeter/cmd/internal/operator"
	"taximeter/cmd/internal/ui"
	"taximeter/schemas"
)

func newPartition() *cobra.Command {
	return group(&cobra.Command{Use: "partition", Short: "Repair a partition that cannot go on by itself"}, newSetOffset())
}

func newSetOffset() *cobra.Command {
	var o chainFlags
	var brokers []string
	var which, topicName, offset, reason string
	var yes bool
	c := &cobra.Command{
		Use:   "set-offset --partition P --topic T --offset N|earliest|latest --reason TEXT",
		Short: "Let a partition go on at another offset of an input topic",
		Long: `Let a partition go on at another offset of an input topic, when the log no longer holds
what it would read next, or holds what nobody must read. The offsets left out are counted
as skipped (` + "`pulados`" + ` in /partitions): with the verdicts and the control offsets they
still sum to the offsets consumed. Going back, they count negative, and what is read again
within 24 h of event time is a duplicate.

Nothing needs to be stopped: a running node sees within a second that the partition's run
is revoked, and begins it anew from the last checkpoint and the new offset. If the input
stands still, that is a checkpoint which holds all that was read before: the command waits
for it. Of an input that goes on, what was read since the last one is left out too.

A topic that was deleted and created again needs --partition all: the offsets of every
partition mean other records now. Then the nodes must be restarted, one after the other:
a running one holds on to the old topic.`,
		Example: `  taximeter partition set-offset --partition 7 --topic corridas.telemetria --offset earliest --reason "retention passed us in the outage of 29 Nov, ticket 1234"`,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			topic, ok := schemas.InputTopic(topicName)
			if !ok {
				return usage(fmt.Errorf("--topic %q is none of the input topics; give one of %v", topicName, schemas.Inputs))
			}
			if err := checkReason(reason); err != nil {
				return err
			}
			x, err := o.open()
			if err != nil {
				return err
			}
			tip, err := x.chain.Tip(c.Context())
			if err != nil {
				return x.explain(err)
			}
			partitions, err := pick(which, len(tip.Entries))
			if err != nil {
				return err
			}
			where, err := remoteOf(x.cfg, brokers)
			if err != nil {
				return err
			}
			log, err := readLog(c.Context(), where, topic, len(tip.Entries))
			if err != nil {
				return err
			}
			recreated := ""
			if log.id != tip.TopicIDs[topic] {
				if len(partitions) < len(tip.Entries) {
					return usage(fmt.Errorf("topic %s was deleted and created again: the offsets of all its partitions mean other records; give --partition all", topic))
				}
				recreated = log.id
			}
			if tip, err = settle(c, x, partitions); err != nil {
				return err
			}
			if log, err = readLog(c.Context(), where, topic, len(tip.Entries)); err != nil { // that took a while
				return err
			}
			moves, err := log.moves(tip, topic, partitions, offset, recreated != "")
			if err != nil {
				return err
			}
			announceMoves(c, topic, moves, log, recreated)
			if err := confirm(c.Context(), c, yes); err != nil {
				return err
			}
			command := fmt.Sprintf("partition set-offset --partition %s --topic %s --offset %s", which, topic, offset)
			m, err := operator.MoveOffsets(c.Context(), x.chain, topic, moves, recreated, operator.NewAudit(command, reason))
			if m.Number == 0 {
				return err
			}
			if o.asJSON {
				err = errors.Join(err, printJSON(c, map[string]any{"numero": m.Number, "topico": topic.String(), "particoes": moves}))
			} else {
				fmt.Fprintf(c.OutOrStdout(), "done: checkpoint %d lets %d partitions go on\n", m.Number, len(moves))
			}
			return madeAnyway(m, err)
		},
	}
	o.register(c)
	reasonFlag(c, &reason, &yes)
	f := c.Flags()
	f.StringSliceVar(&brokers, "brokers", nil, "Kafka brokers, separated by commas (default those of the configuration)")
	f.StringVar(&which, "partition", "", "partition, or all")
	f.StringVar(&topicName, "topic", "", "input topic")
	f.StringVar(&offset, "offset", "", "offset to go on at; earliest = the first that the log holds, latest = its end")
	return c
}

// settle waits until the newest checkpoint holds what the owners have read of inputs that stand still.
func settle(c *cobra.Command, x opened, partitions []schemas.Partition) (checkpoint.Manifest, error) {
	patience := 2*x.cfg.Checkpoint.Interval + time.Minute
	ctx, cancel := context.WithTimeoutCause(c.Context(), patience, errNoCheckpoint)
	defer cancel()
	fmt.Fprintf(c.ErrOrStderr(), "looking what its owner has read, which takes up to %s\n", cluster.HeartbeatPatience)
	told := map[operator.Unsealed]bool{}
	tip, err := operator.Settle(ctx, x.store, x.chain, partitions, func(u operator.Unsealed) {
		if !told[u] {
			told[u] = true
			fmt.Fprintf(c.ErrOrStderr(), "waiting for a checkpoint of partition %d: %s has read %s to offset %d, the newest checkpoint holds it to %d\n",
				u.Partition, u.Owner, u.Topic, u.Next, u.Sealed)
		}
	})
	if err != nil && context.Cause(ctx) == errNoCheckpoint { //nolint:errorlint // it is that very value
		return tip, fmt.Errorf("%w within %s: /checkpoints of the owner says why. What it has read is given up only if you stop it first, and give the command again", errNoCheckpoint, patience)
	}
	return tip, err
}

var errNoCheckpoint = errors.New("nothing was changed: no checkpoint holds what was read")

// pick reads --partition.
func pick(which string, n int) ([]schemas.Partition, error) {
	if which == "all" {
		all := make([]schemas.Partition, n)
		for p := range all {
			all[p] = schemas.Partition(p)
		}
		return all, nil
	}
	p, err := strconv.Atoi(which)
	if err != nil || p < 0 || p >= n {
		return nil, usage(fmt.Errorf("--partition %q; give 0 to %d, or all", which, n-1))
	}
	return []schemas.Partition{schemas.Partition(p)}, nil
}

// topicLog is what the broker holds of a topic now.
type topicLog struct {
	id          string // as the chain writes it
	first, ends []schemas.Offset
}

func readLog(ctx context.Context, where *remote, topic schemas.Topic, partitions int) (topicLog, error) {
	client, details, err := where.kafka(ctx, []string{topic.String()})
	if err != nil {
		return topicLog{}, err
	}
	defer client.Close()
	d := details[topic.String()]
	if len(d.Partitions) != partitions {
		return topicLog{}, fmt.Errorf("topic %s has %d partitions, the checkpoints have %d: trips would change partition, and no offset can mend that; see docs/checkpoints.md",
			topic, len(d.Partitions), partitions)
	}
	admin := kadm.NewClient(client)
	log := topicLog{id: fmt.Sprintf("%x", [16]byte(d.ID)), first: make([]schemas.Offset, partitions), ends: make([]schemas.Offset, partitions)}
	starts, err := admin.ListStartOffsets(ctx, topic.String())
	if err == nil {
		err = starts.Error()
	}
	if err != nil {
		return topicLog{}, fmt.Errorf("offsets of %s: %w", topic, err)
	}
	ends, err := admin.ListCommittedOffsets(ctx, topic.String())
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return topicLog{}, fmt.Errorf("offsets of %s: %w", topic, err)
	}
	starts.Each(func(o kadm.ListedOffset) { log.first[o.Partition] = schemas.Offset(o.Offset) })
	ends.Each(func(o kadm.ListedOffset) { log.ends[o.Partition] = schemas.Offset(o.Offset) })
	return log, nil
}

// moves resolves --offset for each partition. In a topic of a new id also an offset that
// stays the same means other records.
func (l topicLog) moves(tip checkpoint.Manifest, topic schemas.Topic, partitions []schemas.Partition, offset string, recreated bool) ([]operator.Move, error) {
	var moves []operator.Move
	for _, p := range partitions {
		to := l.first[p]
		switch offset {
		case "earliest":
		case "latest":
			to = l.ends[p]
		default:
			n, err := strconv.ParseInt(offset, 10, 64)
			if err != nil {
				return nil, usage(fmt.Errorf("--offset %q; give a number, earliest or latest", offset))
			}
			to = schemas.Offset(n)
		}
		if to < l.first[p] || to > l.ends[p] {
			return nil, usage(fmt.Errorf("--offset %d of partition %d is out of range: the log of %s holds [%d, %d)", to, p, topic, l.first[p], l.ends[p]))
		}
		from := tip.Entries[p].Next[topic]
		if from == to && !recreated {
			continue
		}
		moves = append(moves, operator.Move{Partition: p, From: from, To: to, Skipped: int64(to - from)})
	}
	if len(moves) == 0 {
		return nil, fmt.Errorf("nothing to do: %s stands there already", topic)
	}
	return slices.Clip(moves), nil
}

func announceMoves(c *cobra.Command, topic schemas.Topic, moves []operator.Move, log topicLog, recreated string) {
	w := c.ErrOrStderr()
	if recreated != "" {
		fmt.Fprintf(w, "topic %s was created again: from now on it is the one with id %s; restart the nodes afterwards\n", topic, recreated)
	}
	table := ui.Table{Head: []string{">partition", ">goes on at", ">instead of", ">skipped", ">log begins", ">log ends"}}
	for _, m := range moves {
		table.Add(strconv.Itoa(int(m.Partition)), ui.Count(m.To), ui.Count(m.From), ui.Count(m.Skipped), ui.Count(log.first[m.Partition]), ui.Count(log.ends[m.Partition]))
	}
	table.Print(w, "")
}
