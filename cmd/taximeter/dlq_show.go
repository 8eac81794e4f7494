package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"taximeter/cmd/internal/letters"
	"taximeter/cmd/internal/ui"
	"taximeter/schemas"
)

// findLetters finds letters by their sources, in the partitions that these name.
func findLetters(ctx context.Context, desk *letters.Desk, sources []string) ([]*letters.Letter, error) {
	var partitions []int32
	for _, s := range sources {
		parts := strings.Split(s, "/")
		p, err := -1, error(nil)
		if len(parts) == 3 {
			p, err = strconv.Atoi(parts[1])
		}
		if p < 0 || err != nil {
			return nil, usage(fmt.Errorf("%q is no letter's source; write topic/partition/offset as `taximeter dlq list` does", s))
		}
		partitions = append(partitions, int32(p))
	}
	found := make([]*letters.Letter, len(sources))
	err := desk.Read(ctx, letters.Filter{}, partitions, func(l *letters.Letter) error {
		if i := slices.Index(sources, l.Source); i >= 0 {
			found[i] = l
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if i := slices.Index(found, nil); i >= 0 {
		return nil, fmt.Errorf("there is no dead letter of %s; %s keeps them for a time only", sources[i], schemas.TopicDLQ)
	}
	return found, nil
}

func showLetter(w io.Writer, l *letters.Letter) error {
	table := ui.Table{Head: []string{"", ""}}
	row := func(name, value string) {
		if value != "" {
			table.Add(name, value)
		}
	}
	row("source", l.Source)
	row("reason", l.Reason.String())
	row("published", ui.Instant(l.At)+" by namespace "+l.Namespace+", checkpoint "+l.Checkpoint)
	if l.AppendedAt != nil {
		row("appended", ui.Instant(*l.AppendedAt))
	}
	if l.Key == nil {
		row("key", "(no key)")
	} else {
		row("key", *l.Key)
	}
	row("trip", string(l.TripID))
	row("event", string(l.EventID))
	row("device", l.Device)
	if l.Schema > 0 {
		row("schema", strconv.Itoa(l.Schema))
	}
	row("cut", l.Truncated)
	table.Print(w, "")
	if l.Detail != "" {
		fmt.Fprintf(w, "\n%s\n", l.Detail)
	}
	if l.Value == nil {
		_, err := fmt.Fprintf(w, "\n%q\n", l.Raw)
		return err
	}
	var indented strings.Builder
	e := json.NewEncoder(&indented)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(l.Value); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s", indented.String())
	return err
}
