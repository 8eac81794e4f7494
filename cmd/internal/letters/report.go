package letters

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"taximeter/cmd/internal/ui"
	"taximeter/schemas"
)

// Report is a week of dead letters beside the week before it.
type Report struct {
	From    time.Time `json:"from"`
	Until   time.Time `json:"until"` // not part of it
	Letters int64     `json:"letters"`
	Before  int64     `json:"lettersTheWeekBefore"`
	Reasons []Reason  `json:"reasons"` // most letters first; those of the week before too
	Topics  []Count   `json:"topics"`
	Devices []Count   `json:"devices"` // the worst ones
	Schemas []Count   `json:"schemas"`
	Days    []Count   `json:"days"` // in order
}

// Reason is one reason in a report.
type Reason struct {
	Count
	Before   int64     `json:"lettersTheWeekBefore"`
	Examples []Example `json:"examples,omitempty"`
}

// Example is a redacted letter.
type Example struct {
	Source string          `json:"source"`
	At     time.Time       `json:"at"`
	Detail string          `json:"detail,omitempty"`
	Schema int             `json:"schema,omitempty"`
	Value  json.RawMessage `json:"value"`
}

const (
	week     = 7 * schemas.Day
	examples = 2 // of each reason
	worst    = 10
)

// Report reads the letters published in the week that begins at from, and those of the week
// before it.
func (d *Desk) Report(ctx context.Context, from schemas.Millis) (*Report, error) {
	r := &Report{From: from.Time(), Until: from.Add(week).Time()}
	by := map[string]*Counter{}
	for _, what := range By {
		c, err := NewCounter(what)
		if err != nil {
			return nil, err
		}
		by[what] = c
	}
	before, err := NewCounter("reason")
	if err != nil {
		return nil, err
	}
	picked := make(map[string][]Example)
	err = d.Read(ctx, Filter{Since: from.Add(-week), Until: from.Add(week)}, nil, func(l *Letter) error {
		if l.At < from {
			before.Add(l)
			return nil
		}
		for _, c := range by {
			c.Add(l)
		}
		if reason := l.Reason.String(); len(picked[reason]) < examples {
			picked[reason] = append(picked[reason], Example{l.Source, l.At.Time(), brief(l.Detail), l.Schema, Redact(l)})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	r.Letters, r.Before = by["reason"].Total(), before.Total()
	r.Topics, r.Devices, r.Schemas = by["topic"].Counts(), first(worst, by["device"].Counts()), first(worst, by["schema"].Counts())
	for day := from; day < from.Add(week); day = day.Add(schemas.Day) {
		name := day.Time().Format(time.DateOnly)
		r.Days = append(r.Days, Count{Of: name, Letters: by["day"].Of(name)})
	}
	for _, c := range by["reason"].Counts() {
		r.Reasons = append(r.Reasons, Reason{c, before.Of(c.Of), picked[c.Of]})
	}
	for _, c := range before.Counts() {
		if by["reason"].Of(c.Of) == 0 {
			r.Reasons = append(r.Reasons, Reason{Count: Count{Of: c.Of}, Before: c.Letters})
		}
	}
	return r, nil
}

func first(n int, all []Count) []Count { return all[:min(n, len(all))] }

// Markdown writes the report for people.
func (r *Report) Markdown(w io.Writer) error {
	var b strings.Builder
	year, number := r.From.ISOWeek()
	fmt.Fprintf(&b, "# Dead letters, week %d-W%02d\n\n", year, number)
	fmt.Fprintf(&b, "%s to %s (UTC): %s letters; %s the week before (%s).\n\n", r.From.Format(time.DateOnly), r.Until.AddDate(0, 0, -1).Format(time.DateOnly),
		ui.Count(r.Letters), ui.Count(r.Before), trend(r.Letters, r.Before))
	if len(r.Reasons) > 0 {
		fmt.Fprint(&b, "| reason | letters | share | trips | the week before | trend |\n|---|---:|---:|---:|---:|---|\n")
	}
	for _, x := range r.Reasons {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", x.Of, ui.Count(x.Letters), percent(x.Letters, r.Letters), ui.Count(x.Trips), ui.Count(x.Before), trend(x.Letters, x.Before))
	}
	table(&b, "By day", "day", r.Days)
	table(&b, "By topic", "topic", r.Topics)
	table(&b, "By device", "device", r.Devices)
	table(&b, "By writer's schema", "schema id", r.Schemas)
	for _, x := range r.Reasons {
		if len(x.Examples) > 0 {
			fmt.Fprintf(&b, "\n## Examples of `%s`\n", x.Of)
		}
		for _, e := range x.Examples {
			fmt.Fprintf(&b, "\n`%s`, %s", e.Source, e.At.Format(time.RFC3339))
			if e.Detail != "" {
				fmt.Fprintf(&b, ": %s", cell(e.Detail))
			}
			fmt.Fprintf(&b, "\n\n    %s\n", e.Value)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func table(b *strings.Builder, title, head string, counts []Count) {
	if len(counts) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## %s\n\n| %s | letters |\n|---|---:|\n", title, head)
	for _, c := range counts {
		fmt.Fprintf(b, "| %s | %s |\n", cell(c.Of), ui.Count(c.Letters))
	}
}

// cell keeps a value from being taken for Markdown.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "`", `\`+"`", "<", "&lt;", "*", `\*`, "_", `\_`, "\n", " ").Replace(text)
}

func percent(n, of int64) string {
	if of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(of))
}

// trend compares a week with the week before it.
func trend(now, before int64) string {
	switch {
	case now == before:
		return "as before"
	case before == 0:
		return "new"
	case now == 0:
		return "gone"
	}
	return fmt.Sprintf("%+.0f %%", 100*(float64(now)/float64(before)-1))
}
