package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"taximeter/cmd/internal/letters"
	"taximeter/cmd/internal/ui"
	"taximeter/schemas"
)

func newDLQStats() *cobra.Command {
	var o letterFlags
	var by string
	var asJSON bool
	c := &cobra.Command{
		Use:   "stats",
		Short: "Count dead letters by reason, topic, device, schema, day or hour",
		Example: `  taximeter dlq stats --since 7d
  taximeter dlq stats --reason coordenadas_invalidas --by device`,
		Args: arguments("nothing", 0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			counter, err := letters.NewCounter(by)
			if err != nil {
				return usage(fmt.Errorf("--by: %w", err))
			}
			desk, err := o.open(c.Context())
			if err != nil {
				return err
			}
			err = desk.Read(c.Context(), o.filter, nil, func(l *letters.Letter) error { counter.Add(l); return nil })
			if err != nil {
				return o.from.noRegistry(err)
			}
			if asJSON {
				return printJSON(c, counter.Counts())
			}
			table := ui.Table{Head: []string{by, ">letters", ">trips", "first", "last"}}
			for _, n := range counter.Counts() {
				table.Add(n.Of, ui.Count(n.Letters), ui.Count(n.Trips), ui.Instant(n.First), ui.Instant(n.Last))
			}
			table.Print(c.OutOrStdout(), "")
			fmt.Fprintf(c.OutOrStdout(), "%s dead letters\n", ui.Count(counter.Total()))
			return nil
		},
	}
	o.register(c, "24h")
	c.Flags().StringVar(&by, "by", "reason", strings.Join(letters.By, ", "))
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func newDLQReport() *cobra.Command {
	var from remote
	var week string
	var asJSON bool
	c := &cobra.Command{
		Use:   "report",
		Short: "Report a week of dead letters, in Markdown or JSON",
		Long: `Report a week of dead letters, Monday to Sunday in UTC: the reasons beside the week
before, days, topics, devices, schemas, and examples. Examples show no position, no
pseudonym and no field that the contract does not know.`,
		Example: `  taximeter dlq report > week.md
  taximeter dlq report --week 2026-W47 --json`,
		Args: arguments("nothing", 0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			monday, err := mondayOf(week, time.Now())
			if err != nil {
				return err
			}
			desk, err := openDesk(c.Context(), &from)
			if err != nil {
				return err
			}
			r, err := desk.Report(c.Context(), schemas.Millis(monday.UnixMilli()))
			if err != nil {
				return from.noRegistry(err)
			}
			if asJSON {
				return printJSON(c, r)
			}
			return r.Markdown(c.OutOrStdout())
		},
	}
	from.flags(c)
	c.Flags().StringVar(&week, "week", "", "ISO week such as 2026-W47 (default: the last full one)")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON instead of Markdown")
	return c
}

// mondayOf an ISO week; "" = the last week that is over.
func mondayOf(week string, now time.Time) (time.Time, error) {
	y, m, d := now.UTC().Date()
	today := time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	if week == "" {
		return isoMonday(today).AddDate(0, 0, -7), nil
	}
	year, number, ok := strings.Cut(week, "-W")
	y, yearErr := strconv.Atoi(year)
	n, weekErr := strconv.Atoi(number)
	monday := isoMonday(time.Date(y, 1, 4, 0, 0, 0, 0, time.UTC)).AddDate(0, 0, 7*(n-1)) // 4 January is in week 1
	if gotYear, got := monday.ISOWeek(); !ok || yearErr != nil || weekErr != nil || gotYear != y || got != n {
		return monday, usage(fmt.Errorf("--week %q; write it as 2026-W47", week))
	}
	return monday, nil
}

func isoMonday(day time.Time) time.Time { return day.AddDate(0, 0, -(int(day.Weekday())+6)%7) }
