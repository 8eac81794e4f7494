package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/cmd/internal/ui"
	"taximeter/cmd/internal/values"
	"taximeter/schemas"
)

// readable are the topics whose values people read.
var readable = []string{schemas.TopicTelemetry, schemas.TopicRides, schemas.TopicPayments, schemas.TopicAlerts,
	schemas.TopicUndelivered, schemas.TopicWindows, schemas.TopicDLQ, schemas.TopicRules, schemas.TopicTariffs}

func newConsume() *cobra.Command {
	var from remote
	var start string
	var most int64
	var asJSON bool
	c := &cobra.Command{
		Use:   "consume TOPIC",
		Short: "Print the records of a topic, decoded",
		Long: `Print the records of a topic, decoded by the registry's schemas, committed ones
only, until interrupted. Topics: ` + strings.Join(readable, ", ") + `.`,
		Example: `  taximeter consume pagamentos.eventos --max 10
  taximeter consume corridas.alertas --from end
  taximeter consume corridas.dlq --json | jq .headers`,
		ValidArgs: readable,
		Args:      arguments("a TOPIC", 1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			if !slices.Contains(readable, args[0]) {
				return usage(fmt.Errorf("unknown topic %q; known are %s", args[0], strings.Join(readable, ", ")))
			}
			offset := kgo.NewOffset().AtStart()
			switch start {
			case "beginning":
			case "end":
				offset = kgo.NewOffset().AtEnd()
			default:
				return usage(fmt.Errorf("--from %q; write beginning or end", start))
			}
			if most < 0 {
				return usage(fmt.Errorf("--max %d; give 0 (no limit) or more", most))
			}
			schemaClient, err := from.schemas()
			if err != nil {
				return err
			}
			client, _, err := from.kafka(c.Context(), args, kgo.ConsumeTopics(args[0]), kgo.ConsumeResetOffset(offset),
				kgo.FetchIsolationLevel(kgo.ReadCommitted()))
			if err != nil {
				return err
			}
			defer client.Close()
			r := reading{out: bufio.NewWriter(c.OutOrStdout()), show: showRecord, left: most, limited: most > 0,
				decoder: decoder{values.NewPrinter(schemaClient)}}
			if asJSON {
				r.show = showRecordJSON
			}
			if err := r.run(c.Context(), client); err != nil {
				return from.noRegistry(err)
			}
			return nil
		},
	}
	from.flags(c)
	c.Flags().StringVar(&start, "from", "beginning", "where to begin: beginning or end")
	c.Flags().Int64Var(&most, "max", 0, "end after that many records; 0 = go on until interrupted")
	c.Flags().BoolVar(&asJSON, "json", false, "print each record as a line of JSON")
	return c
}

// reading is one run of consume.
type reading struct {
	out     *bufio.Writer
	show    func(io.Writer, *shown) error
	left    int64
	limited bool
	decoder decoder
}

// run ends when enough was read or the user interrupts, which is the usual end.
func (r *reading) run(ctx context.Context, client *kgo.Client) error {
	for {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			return r.out.Flush()
		}
		for _, e := range fetches.Errors() {
			return fmt.Errorf("read %s/%d: %w", e.Topic, e.Partition, e.Err)
		}
		for i := fetches.RecordIter(); !i.Done(); {
			record, err := r.decoder.decode(ctx, i.Next())
			if err == nil {
				err = r.show(r.out, record)
			}
			if err != nil {
				return errors.Join(err, r.out.Flush())
			}
			if r.left--; r.limited && r.left == 0 {
				return r.out.Flush()
			}
		}
		if err := r.out.Flush(); err != nil {
			return err
		}
	}
}

// shown is a record as it is shown. Of Value and Raw one is set, or none of a deletion.
type shown struct {
	Topic     string            `json:"topic"`
	Partition int32             `json:"partition"`
	Offset    int64             `json:"offset"`
	Timestamp schemas.Millis    `json:"timestamp"`
	Key       *string           `json:"key"` // null: none
	Headers   map[string]string `json:"headers,omitempty"`
	Value     json.RawMessage   `json:"value,omitempty"`
	Raw       []byte            `json:"raw,omitempty"`   // base64 of a value that could not be decoded
	Error     string            `json:"error,omitempty"` // why not
}

type decoder struct{ values *values.Printer }

// decode fails only when the registry cannot be asked: what cannot be read is shown raw.
func (d *decoder) decode(ctx context.Context, r *kgo.Record) (*shown, error) {
	s := &shown{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset, Timestamp: schemas.Millis(r.Timestamp.UnixMilli())}
	if r.Key != nil {
		key := strings.ToValidUTF8(string(r.Key), string(utf8.RuneError))
		s.Key = &key
	}
	if len(r.Headers) > 0 {
		s.Headers = make(map[string]string, len(r.Headers))
	}
	for _, h := range r.Headers {
		s.Headers[h.Key] = strings.ToValidUTF8(string(h.Value), string(utf8.RuneError))
	}
	if r.Value == nil {
		return s, nil
	}
	value, err := d.values.JSON(ctx, r.Value)
	switch {
	case err == nil:
		s.Value = value
	case !values.AtFault(err):
		return nil, err
	case json.Valid(r.Value): // a dead letter that came as text
		s.Value = r.Value
	default:
		s.Raw, s.Error = r.Value, err.Error()
	}
	return s, nil
}

func showRecordJSON(w io.Writer, s *shown) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(s)
}

func showRecord(w io.Writer, s *shown) error {
	key, value := "(no key)", "(deleted)"
	if s.Key != nil {
		key = *s.Key
	}
	switch {
	case s.Raw != nil:
		value = fmt.Sprintf("(%s) %q", s.Error, s.Raw)
	case s.Value != nil:
		value = string(s.Value)
	}
	line := fmt.Sprintf("%d/%d  %s  %s  %s", s.Partition, s.Offset, ui.Instant(s.Timestamp), key, value)
	for _, h := range []string{schemas.HeaderReason, schemas.HeaderDetail} {
		if text := s.Headers[h]; text != "" {
			line += "  " + text
		}
	}
	_, err := fmt.Fprintln(w, line)
	return err
}
