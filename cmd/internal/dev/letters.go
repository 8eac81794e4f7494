package dev

import (
	"context"
	"fmt"

	"taximeter/cmd/internal/letters"
	"taximeter/cmd/internal/published"
	"taximeter/cmd/internal/simulation"
	"taximeter/cmd/internal/values"
	"taximeter/schemas"
	"taximeter/schemas/registry"
)

// deadLetters are the dead letters in the shape of simulate's file.
func deadLetters(ctx context.Context, r *registry.Client, all []published.Letter) ([]simulation.Letter, error) {
	printer := values.NewPrinter(r)
	out := make([]simulation.Letter, len(all))
	for i, l := range all {
		var err error
		if out[i], err = letters.Parse(ctx, printer, l.Key, l.Value, l.Headers); err != nil {
			return nil, fmt.Errorf("dead letter of %s: %w", l.Headers[schemas.HeaderSource], err)
		}
	}
	return out, nil
}
