package webhook

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"taximeter/schemas/codec"
	"taximeter/schemas/registry"
)

// values reads alerts by the names of their fields, which are those of the word's JSON.
type values struct {
	registry *registry.Client

	mu       sync.Mutex // guards printers
	printers map[int]*codec.Printer
}

// printer of a writer's schema.
func (v *values) printer(ctx context.Context, id int) (*codec.Printer, error) {
	v.mu.Lock()
	p := v.printers[id]
	v.mu.Unlock()
	if p != nil {
		return p, nil
	}
	schema, err := v.registry.SchemaByID(ctx, id)
	if err != nil {
		return nil, err
	}
	if p, err = codec.NewPrinter(schema); err != nil {
		return nil, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.printers[id] = p
	return p, nil
}

const registryPause = time.Second

// decode reads an item's alert. While the registry does not answer it asks again; what it
// returns is the value's fault, or that ctx ended.
func (d *Deliverer) decode(ctx context.Context, it *item) error {
	id, err := codec.SchemaID(it.record.Value)
	if err != nil {
		return err
	}
	for told := false; ; told = true {
		p, err := d.values.printer(ctx, id)
		if err == nil {
			text, err := p.Append(nil, it.record.Value)
			if err != nil {
				return err
			}
			return json.Unmarshal(text, &it.alert)
		}
		if !registry.Unavailable(err) {
			return err
		}
		if !told {
			d.o.Log.Warn("alerts wait for the schema registry", "err", err)
		}
		if !sleep(ctx, registryPause, nil) {
			return ctx.Err()
		}
	}
}
