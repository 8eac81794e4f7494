package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"taximeter/cmd/internal/letters"
	"taximeter/cmd/internal/ui"
)

func newDLQList() *cobra.Command {
	var o letterFlags
	var most int
	var asJSON bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List dead letters, the newest last",
		Example: `  taximeter dlq list --reason relogio_adiantado --since 6h
  taximeter dlq list --device "app/5.3" --max 0 --json | jq -r .source`,
		Args: arguments("nothing", 0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			if most < 0 {
				return usage(fmt.Errorf("--max %d; give 0 (all) or more", most))
			}
			desk, err := o.open(c.Context())
			if err != nil {
				return err
			}
			var newest []*letters.Letter
			total := 0
			err = desk.Read(c.Context(), o.filter, nil, func(l *letters.Letter) error {
				newest, total = append(newest, l), total+1
				if most > 0 && len(newest) >= 2*most {
					newest = lastLetters(newest, most)
				}
				return nil
			})
			if err != nil {
				return o.from.noRegistry(err)
			}
			newest = lastLetters(newest, most)
			if asJSON {
				e := json.NewEncoder(c.OutOrStdout())
				e.SetEscapeHTML(false)
				for _, l := range newest {
					if err := e.Encode(l); err != nil {
						return err
					}
				}
				return nil
			}
			listLetters(c.OutOrStdout(), newest)
			fmt.Fprintf(c.OutOrStdout(), "%s of %s dead letters\n", ui.Count(len(newest)), ui.Count(total))
			return nil
		},
	}
	o.register(c, "24h")
	c.Flags().IntVar(&most, "max", 50, "the newest ones only; 0 = all")
	c.Flags().BoolVar(&asJSON, "json", false, "print each letter as a line of JSON")
	return c
}

// lastLetters are the newest, in order; most 0 = all.
func lastLetters(all []*letters.Letter, most int) []*letters.Letter {
	slices.SortStableFunc(all, func(a, b *letters.Letter) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Source, b.Source))
	})
	if most > 0 && len(all) > most {
		all = slices.Clone(all[len(all)-most:])
	}
	return all
}

func listLetters(w io.Writer, all []*letters.Letter) {
	table := ui.Table{Head: []string{"published", "source", "reason", "trip", "device", ">schema", "detail"}}
	for _, l := range all {
		detail := []rune(l.Detail)
		table.Add(ui.Instant(l.At), l.Source, l.Reason.String(), named(string(l.TripID)), named(l.Device), fmt.Sprint(l.Schema), string(detail[:min(len(detail), 60)]))
	}
	table.Print(w, "")
}

func newDLQShow() *cobra.Command {
	var from remote
	var asJSON bool
	c := &cobra.Command{
		Use:     "show SOURCE",
		Short:   "Show one dead letter in full: its source is topic/partition/offset",
		Example: "  taximeter dlq show corridas.telemetria/3/28",
		Args:    arguments("a letter's source", 1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			desk, err := openDesk(c.Context(), &from)
			if err != nil {
				return err
			}
			found, err := findLetters(c.Context(), desk, args)
			if err != nil {
				return from.noRegistry(err)
			}
			if asJSON {
				return printJSON(c, found[0])
			}
			return showLetter(c.OutOrStdout(), found[0])
		},
	}
	from.flags(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}
