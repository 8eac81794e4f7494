package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/actors/trip"
	"taximeter/cmd/internal/events"
	"taximeter/cmd/internal/feed"
	"taximeter/cmd/internal/ui"
	"taximeter/schemas"
	"taximeter/schemas/edge"
)

func newProduce() *cobra.Command {
	var to remote
	var speed string
	var toNow, asJSON bool
	c := &cobra.Command{
		Use:   "produce F...",
		Short: "Send event files to Kafka",
		Long: `Send event files to Kafka as a well-behaved producer would: Avro by the registry's
schemas, placed by key, idempotent, acknowledged by all replicas. Events that no Avro
record can express go as the text of the file; the meter dead-letters them.

A live node counts nothing older than 24 hours that it does not know the trip of. With
--shift-to-now the events are moved in time so that they happen now, none ahead of the
clock: at --speed max the last one, at --speed 1 the first one.`,
		Example: `  taximeter produce day.jsonl.gz
  taximeter produce day.jsonl.gz --shift-to-now --speed 10
  taximeter produce day.jsonl --speed 60 --brokers kafka-1:9092,kafka-2:9092 --registry http://registry:8081`,
		Args: arguments("event file", 1, -1),
		RunE: func(c *cobra.Command, args []string) error {
			pace, err := feed.ParseSpeed(speed)
			if err != nil {
				return usage(fmt.Errorf("--speed: %w", err))
			}
			files, err := events.Open(args)
			if err != nil {
				return err
			}
			defer files.Close()
			p := production{files: files, pacer: feed.NewPacer(pace), bar: ui.NewBar(c.ErrOrStderr(), "producing"), now: schemas.Millis(time.Now().UnixMilli()), warn: c.ErrOrStderr()}
			if toNow {
				first, last, err := events.Span(c.Context(), args)
				if err != nil {
					return err
				}
				p.shifted, p.shift = true, pace.ToNow(first, last, p.now)
			}
			if err := p.run(c.Context(), &to); err != nil {
				return err
			}
			if asJSON {
				return printJSON(c, p.summary())
			}
			p.print(c.OutOrStdout())
			return nil
		},
	}
	to.flags(c)
	c.Flags().StringVar(&speed, "speed", "max", "times as fast as recorded, or max")
	c.Flags().BoolVar(&toNow, "shift-to-now", false, "move the events in time so that they happen now; reads the files twice")
	c.Flags().BoolVar(&asJSON, "json", false, "print the summary as JSON")
	return c
}

// deliveryTries bounds how often a record is sent, at last every 2.5 s: brokers that are
// gone for a minute or so are waited for. The client's own time limit would not do: it
// counts from the record's timestamp, and a recording's lies in the past.
const deliveryTries = 30

// production is one run of produce.
type production struct {
	files   *events.Files
	pacer   *feed.Pacer
	bar     *ui.Bar
	now     schemas.Millis // at the start
	shift   schemas.Millis // added to every instant, if shifted
	shifted bool
	warn    io.Writer // nil once warned
	encoder *feed.Encoder
	sent    [schemas.NumInputs]int64
	took    time.Duration
}

func (p *production) run(ctx context.Context, to *remote) error {
	began := time.Now()
	topics := make([]string, 0, schemas.NumInputs)
	for _, t := range schemas.Inputs {
		topics = append(topics, t.String())
	}
	client, details, err := to.kafka(ctx, topics, kgo.RequiredAcks(kgo.AllISRAcks()), kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)),
		kgo.RecordRetries(deliveryTries), kgo.ProducerLinger(5*time.Millisecond))
	if err != nil {
		return err
	}
	defer client.Close()
	if err := coPartitioned(details, topics); err != nil {
		return err
	}
	schemaClient, err := to.schemas()
	if err != nil {
		return err
	}
	if p.encoder, err = feed.Register(ctx, schemaClient); err != nil {
		return to.noRegistry(err)
	}
	err = p.send(ctx, client)
	p.bar.Done()
	p.took = time.Since(began)
	return err
}

// coPartitioned makes sure that a trip's records meet in one partition number.
func coPartitioned(details kadm.TopicDetails, topics []string) error {
	for _, t := range topics {
		if n, first := len(details[t].Partitions), len(details[topics[0]].Partitions); n != first {
			return fmt.Errorf("topic %s has %d partitions and %s has %d: a trip's events would fall apart; create them with one count", t, n, topics[0], first)
		}
	}
	return nil
}

func (p *production) send(ctx context.Context, client *kgo.Client) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	acknowledged := func(_ *kgo.Record, err error) {
		if err != nil {
			fail(err)
		}
	}
	for n := 0; ; n++ {
		line, err := p.files.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return errors.Join(err, client.Flush(ctx)) // what stands before it is sent
		}
		if err := p.pacer.Wait(ctx, line); err != nil {
			return broken(ctx, err)
		}
		if p.shifted {
			line.Shift(p.shift)
			line.AppendedAt = schemas.NoTime // the brokers' clock is right
		}
		p.warnOfAge(line)
		record, err := p.encoder.Record(line)
		if err != nil {
			return err
		}
		client.Produce(ctx, record, acknowledged)
		p.sent[line.Topic]++
		if n%256 == 0 {
			p.bar.Show(p.files.Read(), p.files.Size())
		}
	}
	if err := client.Flush(ctx); err != nil {
		return broken(ctx, err)
	}
	return broken(ctx, ctx.Err())
}

// warnOfAge tells once that a live node will not count what is sent.
func (p *production) warnOfAge(l *edge.Line) {
	horizon := trip.DefaultSettings().Horizon
	at := l.EventTime()
	if p.warn == nil || at < schemas.MinInstant || at >= p.now-horizon {
		return
	}
	mend := "add --shift-to-now, or play the files with `taximeter dev --events`"
	if p.shifted {
		mend = "the files cover more than that; give a lower --speed"
	}
	fmt.Fprintf(p.warn, "taximeter: warning: event %d happened at %s, more than %d h ago: a live node makes such events %s unless it knows their trip; %s\n",
		l.Number, ui.Instant(at), horizon/schemas.Hour, schemas.DLQBeyondHorizon, mend)
	p.warn = nil
}

// broken tells why sending stopped: the first record that was refused, or the user.
func broken(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("the brokers did not take a record: %w; mend that and send the files again: the meter counts each event once", err)
}

// produced is the summary as JSON.
type produced struct {
	Records map[string]int64 `json:"registros"` // by topic
	AsText  int64            `json:"ilegiveis"` // of them, those that no Avro record can express
	Seconds float64          `json:"segundos"`
}

func (p *production) summary() produced {
	out := produced{Records: make(map[string]int64), AsText: p.encoder.AsText, Seconds: p.took.Seconds()}
	for _, t := range schemas.Inputs {
		out.Records[t.String()] = p.sent[t]
	}
	return out
}

func (p *production) print(w io.Writer) {
	total := int64(0)
	for _, t := range schemas.Inputs {
		fmt.Fprintf(w, "%-20s %12s\n", t, ui.Count(p.sent[t]))
		total += p.sent[t]
	}
	fmt.Fprintf(w, "%-20s %12s in %s, %s\n", "records", ui.Count(total), ui.Elapsed(p.took), ui.Rate(total, p.took))
	if n := p.encoder.AsText; n > 0 {
		fmt.Fprintf(w, "%s of them cannot be Avro and went as text: they will be %s\n", ui.Count(n), schemas.DLQUnreadable)
	}
}
