package values

import (
	"context"
	"encoding/json"

	"taximeter/schemas/codec"
	"taximeter/schemas/registry"
)

// Printer writes values as JSON, under the names of their schemas' fields. It belongs to
// one goroutine.
type Printer struct {
	registry *registry.Client
	byID     map[int]*codec.Printer
}

// NewPrinter does not ask the registry yet.
func NewPrinter(r *registry.Client) *Printer {
	return &Printer{registry: r, byID: make(map[int]*codec.Printer)}
}

// JSON of a value in the Confluent wire format. AtFault tells its errors apart.
func (p *Printer) JSON(ctx context.Context, value []byte) (json.RawMessage, error) {
	id, err := codec.SchemaID(value)
	if err != nil {
		return nil, unreadable{err}
	}
	printer := p.byID[id]
	if printer == nil {
		schema, err := schemaOf(ctx, p.registry, id)
		if err != nil {
			return nil, err
		}
		if printer, err = codec.NewPrinter(schema); err != nil {
			return nil, unreadable{err}
		}
		p.byID[id] = printer
	}
	text, err := printer.Append(nil, value)
	if err != nil {
		return nil, unreadable{err}
	}
	return text, nil
}
