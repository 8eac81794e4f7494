package letters

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"taximeter/cmd/internal/simulation"
	"taximeter/cmd/internal/values"
	"taximeter/schemas"
)

// Parse reads a record of corridas.dlq as the line of simulate's file. What its headers do
// not say is read from the event in it, if that can be read. An error is the registry's, or
// of a record that is no letter.
func Parse(ctx context.Context, printer *values.Printer, key, value []byte, headers map[string]string) (l simulation.Letter, err error) {
	if err := l.Reason.UnmarshalText([]byte(headers[schemas.HeaderReason])); err != nil {
		return l, err
	}
	l.Detail = headers[schemas.HeaderDetail]
	if err := locate(&l, headers[schemas.HeaderSource]); err != nil {
		return l, err
	}
	if text := headers[schemas.HeaderAppendedAt]; text != "" {
		at, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return l, fmt.Errorf("header %s: %w", schemas.HeaderAppendedAt, err)
		}
		appended := schemas.Millis(at)
		l.AppendedAt = &appended
	}
	if key != nil {
		text := string(key)
		l.Key = &text
	}
	l.Value, err = printer.JSON(ctx, value)
	switch {
	case err == nil:
	case !values.AtFault(err):
		return l, err
	case json.Valid(value): // it came as text
		l.Value = value
	default:
		l.Value, l.Raw = nil, value
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
	return l, nil
}

// locate reads topic/partition/offset.
func locate(l *simulation.Letter, source string) error {
	parts := strings.Split(source, "/")
	if len(parts) != 3 {
		return fmt.Errorf("header %s is not topic/partition/offset: %q", schemas.HeaderSource, source)
	}
	partition, err := strconv.ParseInt(parts[1], 10, 32)
	if err != nil {
		return fmt.Errorf("header %s: %w", schemas.HeaderSource, err)
	}
	offset, err := strconv.ParseInt(parts[2], 10, 64)
	if err != nil {
		return fmt.Errorf("header %s: %w", schemas.HeaderSource, err)
	}
	l.Partition, l.Offset = schemas.Partition(partition), schemas.Offset(offset)
	if offset >= 0 {
		l.Topic = &parts[0]
	}
	return nil
}
