package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"taximeter/schemas"
)

// when reads an instant of a flag: a day, RFC 3339, or how long ago, as 90m, 6h or 7d.
func when(flag, text string, now time.Time) (schemas.Millis, error) {
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if at, err := time.Parse(layout, text); err == nil {
			return schemas.Millis(at.UnixMilli()), nil
		}
	}
	ago, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n int
		n, err = strconv.Atoi(days)
		ago = time.Duration(n) * 24 * time.Hour
	}
	if err != nil || ago < 0 {
		return 0, usage(fmt.Errorf("--%s %q; write a day (2026-11-29), an instant (2026-11-29T18:00:00Z) or how long ago (90m, 6h, 7d)", flag, text))
	}
	return schemas.Millis(now.Add(-ago).UnixMilli()), nil
}

// day reads a UTC day and gives its bounds, [from, until).
func day(flag, text string) (from, until schemas.Millis, err error) {
	at, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return 0, 0, usage(fmt.Errorf("--%s %q; write a day as 2026-11-29", flag, text))
	}
	from = schemas.Millis(at.UnixMilli())
	return from, from.Add(schemas.Day), nil
}
