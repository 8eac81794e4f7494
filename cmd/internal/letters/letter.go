package letters

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/cmd/internal/scan"
	"taximeter/cmd/internal/simulation"
	"taximeter/cmd/internal/values"
	"taximeter/internal/access"
	"taximeter/schemas"
	"taximeter/schemas/codec"
	"taximeter/schemas/registry"
)

// Letter is a dead letter as people look at it: the line of simulate's file, and what only
// the topic tells.
type Letter struct {
	simulation.Letter
	Source     string         `json:"source"` // topic/partition/offset: names the letter
	At         schemas.Millis `json:"at"`     // when it was published
	Namespace  string         `json:"namespace"`
	Checkpoint string         `json:"checkpoint"`
	Schema     int            `json:"schema,omitempty"` // writer's schema id; 0 = not in the wire format
	Device     string         `json:"device,omitempty"` // dispositivo: the device, and its version if producers write it there
	Truncated  string         `json:"truncated,omitempty"`
	record     *kgo.Record
}

// Filter selects letters; its zero value selects all. Empty fields do not select.
type Filter struct {
	Reasons      []schemas.Verdict
	Topics       []string       // where they came from
	Since, Until schemas.Millis // by when they were published; [Since, Until), 0 = open
	Trip         string
	Device       string // what dispositivo begins with
	Schema       int
}

func (f *Filter) takes(l *Letter) bool {
	return (len(f.Reasons) == 0 || slices.Contains(f.Reasons, l.Reason)) &&
		(len(f.Topics) == 0 || l.Topic != nil && slices.Contains(f.Topics, *l.Topic)) &&
		l.At >= f.Since && (f.Until == 0 || l.At < f.Until) &&
		(f.Trip == "" || string(l.TripID) == f.Trip || l.Key != nil && *l.Key == f.Trip) &&
		(f.Device == "" || l.Device != "" && strings.HasPrefix(l.Device, f.Device)) &&
		(f.Schema == 0 || l.Schema == f.Schema)
}

// Desk is where the letters are read.
type Desk struct {
	kafka    access.Kafka
	registry *registry.Client
	values   *values.Printer
}

// NewDesk connects to nothing yet.
func NewDesk(kafka access.Kafka, r *registry.Client) *Desk {
	return &Desk{kafka, r, values.NewPrinter(r)}
}

// Read gives each the letters that a filter selects, in the order of each partition.
// partitions nil = all.
func (d *Desk) Read(ctx context.Context, f Filter, partitions []int32, each func(*Letter) error) error {
	_, err := scan.Read(ctx, d.kafka, scan.Range{Topic: schemas.TopicDLQ, Partitions: partitions, Since: f.Since}, func(r *kgo.Record) error {
		l, err := d.letter(ctx, r)
		if err != nil || !f.takes(l) {
			return err
		}
		return each(l)
	})
	return err
}

func (d *Desk) letter(ctx context.Context, r *kgo.Record) (*Letter, error) {
	headers := make(map[string]string, len(r.Headers))
	for _, h := range r.Headers {
		headers[h.Key] = string(h.Value)
	}
	parsed, err := Parse(ctx, d.values, r.Key, r.Value, headers)
	if err != nil {
		return nil, err
	}
	l := &Letter{Letter: parsed, Source: headers[schemas.HeaderSource], At: schemas.Millis(r.Timestamp.UnixMilli()), Namespace: headers[schemas.HeaderNamespace],
		Checkpoint: headers[schemas.HeaderCheckpoint], Truncated: headers[schemas.HeaderTruncated], record: r}
	if id, err := codec.SchemaID(r.Value); err == nil {
		l.Schema = id
	}
	var event struct {
		Device any `json:"dispositivo"`
	}
	if l.Value != nil && json.Unmarshal(l.Value, &event) == nil {
		l.Device, _ = event.Device.(string)
	}
	return l, nil
}
