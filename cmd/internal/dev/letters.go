package dev

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"taximeter/cmd/internal/published"
	"taximeter/cmd/internal/simulation"
	"taximeter/cmd/internal/values"
	"taximeter/schemas"
	"taximeter/schemas/registry"
)

// letters are the dead letters in the shape of simulate's file. What the topic's record
// does not say is read from the event in it, if that can be read.
func letters(ctx context.Context, r *registry.Client, all []published.Letter) ([]simulation.Letter, error) {
	printer := values.NewPrinter(r)
	out := make([]simulation.Letter, len(all))
	for i := range all {
		if err := fillLetter(ctx, &out[i], &all[i], printer); err != nil {
			return nil, fmt.Errorf("dead letter of %s: %w", all[i].Headers[schemas.HeaderSource], err)
		}
	}
	return out, nil
}

func fillLetter(ctx context.Context, l *simulation.Letter, from *published.Letter, printer *values.Printer) (err error) {
	if err := l.Reason.UnmarshalText([]byte(from.Headers[schemas.HeaderReason])); err != nil {
		return err
	}
	l.Detail = from.Headers[schemas.HeaderDetail]
	if err := locate(l, from.Headers[schemas.HeaderSource]); err != nil {
		return err
	}
	if text := from.Headers[schemas.HeaderAppendedAt]; text != "" {
		at, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("header %s: %w", schemas.HeaderAppendedAt, err)
		}
		appended := schemas.Millis(at)
		l.AppendedAt = &appended
	}
	if from.Key != nil {
		key := string(from.Key)
		l.Key = &key
	}
	l.Value, err = printer.JSON(ctx, from.Value)
	switch {
	case err == nil:
	case !values.AtFault(err):
		return err
	case json.Valid(from.Value): // it came as text
		l.Value = from.Value
	default:
		l.Value, l.Raw = nil, from.Value
	}
	var ids struct {
		TripID  any `json:"tripId"`
		EventID any `json:"eventId"`
	}
	if l.Value != nil && json.Unmarshal(l.Value, &ids) == nil {
		trip, _ := ids.TripID.(string) // anything else is no id
		event, _ := ids.EventID.(string)
		l.TripID, l.EventID = schemas.TripID(trip), schemas.EventID(event)
	}
	return nil
}

// locate reads topic/partition/offset.
func locate(l *simulation.Letter, source string) error {
	parts := strings.Split(source, "/")
	if len(parts) != 3 {
		return fmt.Errorf("header %s is not topic/partition/offset: %q", schemas.HeaderSource, source)
	}
	partition, err := strconv.ParseInt(parts[1], 10, 32)
	if err != nil {
		return err
	}
	offset, err := strconv.ParseInt(parts[2], 10, 64)
	if err != nil {
		return err
	}
	l.Partition, l.Offset = schemas.Partition(partition), schemas.Offset(offset)
	if offset >= 0 {
		l.Topic = &parts[0]
	}
	return nil
}
