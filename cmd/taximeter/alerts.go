package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/actors/rule"
	"taximeter/cmd/internal/ui"
	"taximeter/cmd/internal/values"
	"taximeter/schemas"
)

func newAlerts() *cobra.Command {
	return group(&cobra.Command{Use: "alerts", Short: "Watch the alerts"}, newAlertsTail())
}

func newAlertsTail() *cobra.Command {
	var from remote
	var t tail
	var since string
	c := &cobra.Command{
		Use:   "tail",
		Short: "Print alerts as they are decided",
		Long: `Print alerts as they are decided, until interrupted: those from now on, or since some
instant. It reads the topic beside the group that delivers alerts to people, and moves no
offset of it.`,
		Example: `  taximeter alerts tail --region recife --kind sem_sinal
  taximeter alerts tail --since 1h --json | jq .detalhes`,
		Args: arguments("nothing", 0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			for _, kind := range t.kinds {
				if !slices.Contains(rule.Kinds(), kind) {
					return usage(fmt.Errorf("--kind %q; the kinds are %s", kind, strings.Join(rule.Kinds(), ", ")))
				}
			}
			if t.most < 0 {
				return usage(fmt.Errorf("--max %d; give 0 (no limit) or more", t.most))
			}
			start := kgo.NewOffset().AtEnd()
			if since != "" {
				at, err := when("since", since, time.Now())
				if err != nil {
					return err
				}
				start = kgo.NewOffset().AfterMilli(int64(at))
			}
			schemaClient, err := from.schemas()
			if err != nil {
				return err
			}
			client, _, err := from.kafka(c.Context(), []string{schemas.TopicAlerts}, kgo.ConsumeTopics(schemas.TopicAlerts), kgo.ConsumeResetOffset(start),
				kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.FetchMaxWait(time.Second))
			if err != nil {
				return err
			}
			defer client.Close()
			t.out, t.values = bufio.NewWriter(c.OutOrStdout()), values.NewPrinter(schemaClient)
			return from.noRegistry(t.run(c.Context(), client))
		},
	}
	from.flags(c)
	f := c.Flags()
	f.StringSliceVar(&t.regions, "region", nil, `only of these regions; '""' = of trips whose region is unknown`)
	f.StringSliceVar(&t.kinds, "kind", nil, "only of these kinds: "+strings.Join(rule.Kinds(), ", "))
	f.StringVar(&since, "since", "", "begin with those decided since then: an instant, or how long ago (default: now)")
	f.IntVar(&t.most, "max", 0, "end after that many alerts; 0 = go on until interrupted")
	f.BoolVar(&t.asJSON, "json", false, "print each alert as a line of JSON")
	return c
}

// tail is one run of alerts tail.
type tail struct {
	regions, kinds []string
	most, shown    int
	asJSON         bool
	out            *bufio.Writer
	values         *values.Printer
}

// run ends when enough was shown or the user interrupts, which is the usual end.
func (t *tail) run(ctx context.Context, client *kgo.Client) error {
	for {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			return t.out.Flush()
		}
		for _, e := range fetches.Errors() {
			return fmt.Errorf("read %s/%d: %w", e.Topic, e.Partition, e.Err)
		}
		for i := fetches.RecordIter(); !i.Done(); {
			if err := t.show(ctx, i.Next()); err != nil {
				return err
			}
			if t.most > 0 && t.shown == t.most {
				return t.out.Flush()
			}
		}
		if err := t.out.Flush(); err != nil {
			return err
		}
	}
}

func (t *tail) show(ctx context.Context, r *kgo.Record) error {
	text, err := t.values.JSON(ctx, r.Value)
	var a schemas.Alert
	if err == nil {
		err = json.Unmarshal(text, &a)
	}
	switch {
	case err != nil && !values.AtFault(err):
		return err
	case err != nil:
		_, err = fmt.Fprintf(t.out, "%d/%d is no alert: %v\n", r.Partition, r.Offset, err)
		return err
	case len(t.regions) > 0 && !slices.Contains(t.regions, a.Region), len(t.kinds) > 0 && !slices.Contains(t.kinds, a.Kind):
		return nil
	}
	t.shown++
	if t.asJSON {
		_, err = fmt.Fprintf(t.out, "%s\n", text)
		return err
	}
	line := fmt.Sprintf("%s  %-18s  %s/%s  trip %s since %s", ui.Instant(schemas.Millis(r.Timestamp.UnixMilli())), a.Kind, named(a.Region), named(a.Category), a.TripID, ui.Instant(a.OnsetAt))
	for _, key := range slices.Sorted(maps.Keys(a.Details)) {
		line += "  " + key + "=" + a.Details[key]
	}
	_, err = fmt.Fprintf(t.out, "%s  rule %s version %d\n", line, a.RuleID, a.RuleVersion)
	return err
}
