package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"

	"taximeter/checkpoint"
	"taximeter/schemas"
)

// inputLogs are the input topics as the brokers have them now.
type inputLogs struct {
	ids          [schemas.NumInputs]string // as the chain writes them
	starts, ends []checkpoint.Offsets      // by partition
}

func readInputs(ctx context.Context, where *remote) (inputLogs, error) {
	var names []string
	for _, t := range schemas.Inputs {
		names = append(names, t.String())
	}
	client, details, err := where.kafka(ctx, names)
	if err != nil {
		return inputLogs{}, err
	}
	defer client.Close()
	var logs inputLogs
	for _, t := range schemas.Inputs {
		logs.ids[t] = fmt.Sprintf("%x", [16]byte(details[t.String()].ID))
	}
	n := len(details[names[0]].Partitions)
	admin := kadm.NewClient(client)
	if logs.starts, err = inputOffsets(ctx, admin.ListStartOffsets, names, n); err != nil {
		return inputLogs{}, err
	}
	logs.ends, err = inputOffsets(ctx, admin.ListEndOffsets, names, n)
	return logs, err
}

func inputOffsets(ctx context.Context, list func(context.Context, ...string) (kadm.ListedOffsets, error), names []string, partitions int) ([]checkpoint.Offsets, error) {
	listed, err := list(ctx, names...)
	if err == nil {
		err = listed.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("offsets of the input topics: %w", err)
	}
	all := make([]checkpoint.Offsets, partitions)
	for p := range all {
		for _, t := range schemas.Inputs {
			at, ok := listed.Lookup(t.String(), int32(p))
			if !ok {
				return nil, fmt.Errorf("the broker knows no offsets of partition %d of %s", p, t)
			}
			all[p][t] = schemas.Offset(at.Offset)
		}
	}
	return all, nil
}

// held makes sure that the topics hold what a restore from tip back to old reads again. Where no
// broker answers it says so and lets it be: nothing is lost for ever until a gap is accepted.
func (x opened) held(c *cobra.Command, brokers []string, old, tip checkpoint.Manifest, overGap bool) error {
	where, err := remoteOf(x.cfg, brokers)
	if err != nil {
		return err
	}
	logs, err := readInputs(c.Context(), where)
	if err == nil && (logs.ids != old.TopicIDs || len(logs.starts) != len(old.Entries)) {
		err = fmt.Errorf("those of %s are not the ones that checkpoint %d was read from", strings.Join(where.Brokers, ","), old.Number)
	}
	if err != nil {
		fmt.Fprintf(c.ErrOrStderr(), "whether the input topics still hold what is read again is not known: %v\n", err)
		return c.Context().Err()
	}
	gaps := logs.gaps(old, tip)
	if len(gaps) == 0 || overGap {
		return nil
	}
	return fmt.Errorf("back to checkpoint %d would lose what checkpoint %d has passed and the input topics no longer hold:\n%w\n"+
		"restore a later one, or give --accept-gap: these inputs then stand still until `taximeter partition set-offset`", old.Number, tip.Number, errors.Join(gaps...))
}

// gaps are what lies between two manifests and is no longer in the logs.
func (l inputLogs) gaps(old, tip checkpoint.Manifest) (all []error) {
	for p, e := range old.Entries {
		for _, t := range schemas.Inputs {
			if from, to := e.Next[t], min(l.starts[p][t], tip.Entries[p].Next[t]); from < to {
				all = append(all, fmt.Errorf("%s/%d: offsets [%d, %d)", t, p, from, to))
			}
		}
	}
	return all
}
