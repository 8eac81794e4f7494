package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"taximeter/cmd/internal/catalogue"
	"taximeter/cmd/internal/ui"
	"taximeter/schemas"
)

func newCatalogueShow() *cobra.Command {
	var from remote
	var asJSON bool
	c := &cobra.Command{
		Use:   "show",
		Short: "Show the tariffs and alert rules in Kafka",
		Long: `Show the tariffs and alert rules that ` + schemas.TopicTariffs + ` and ` + schemas.TopicRules + `
hold, the newest record of every key. Trips that start now are billed by the
tariffs marked "now"; those marked "later" wait for their instant.`,
		Example: `  taximeter catalogue show
  taximeter catalogue show --json | jq .tarifas > tarifas.json`,
		Args: arguments("nothing", 0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			client, _, err := from.kafka(c.Context(), catalogueTopics)
			if err != nil {
				return err
			}
			client.Close()
			schemaClient, err := from.schemas()
			if err != nil {
				return err
			}
			have, err := catalogue.Read(c.Context(), from.Kafka, schemaClient)
			if err != nil {
				return from.noRegistry(err)
			}
			if asJSON {
				return printJSON(c, have)
			}
			showCatalogue(c.OutOrStdout(), have, schemas.Millis(time.Now().UnixMilli()))
			return nil
		},
	}
	from.flags(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print them as JSON; tarifas and regras have the shape of the files")
	return c
}

func showCatalogue(w io.Writer, c *catalogue.Catalogue, now schemas.Millis) {
	fmt.Fprintf(w, "tariffs: %s\n", ui.Count(len(c.Tariffs)))
	tariffs := &ui.Table{Head: []string{"region", "category", "from", "", "tariff", "currency", ">base", ">per km", ">per min", ">minimum", ">cancelled", ">free for"}}
	for i := range c.Tariffs {
		t := &c.Tariffs[i]
		replaced := i+1 < len(c.Tariffs) && c.Tariffs[i+1].Region == t.Region && c.Tariffs[i+1].Category == t.Category && c.Tariffs[i+1].ValidFrom <= now
		price := func(m schemas.Micros) string { return ui.Group(ui.Decimal(m.String(), schemas.MicrosScale)) }
		tariffs.Add(anyOr(t.Region), anyOr(t.Category), ui.Instant(t.ValidFrom), standing(t.ValidFrom, now, replaced), t.TariffID, t.Currency,
			price(t.Base), price(t.PerKm), price(t.PerMin), price(t.Minimum), price(t.CancelFee), strconv.Itoa(t.GraceS)+" s")
	}
	if tariffs.Len() > 0 {
		tariffs.Print(w, "  ")
	}
	fmt.Fprintf(w, "alert rules: %s\n", ui.Count(len(c.Rules)))
	rules := &ui.Table{Head: []string{"rule", ">version", "from", "", "kind", "regions", "categories", "parameters"}}
	for i := range c.Rules {
		r := &c.Rules[i]
		state := standing(r.ValidFrom, now, superseded(r, c.Rules, now))
		if !r.Active {
			state += ", off"
		}
		rules.Add(r.RuleID, strconv.Itoa(r.Version), ui.Instant(r.ValidFrom), state, r.Kind, allOr(r.Regions), allOr(r.Categories), parameters(r.Params))
	}
	if rules.Len() > 0 {
		rules.Print(w, "  ")
	}
	for _, text := range c.Refused {
		fmt.Fprintf(w, "refused: %s\n", text)
	}
}

// standing says whether an entry counts now.
func standing(from, now schemas.Millis, replaced bool) string {
	switch {
	case from > now:
		return "later"
	case replaced:
		return "before"
	}
	return "now"
}

// superseded reports whether another version of the rule, in force by now, comes after it.
func superseded(r *schemas.Rule, all []schemas.Rule, now schemas.Millis) bool {
	return slices.ContainsFunc(all, func(x schemas.Rule) bool {
		return x.RuleID == r.RuleID && x.ValidFrom <= now && (x.ValidFrom > r.ValidFrom || x.ValidFrom == r.ValidFrom && x.Version > r.Version)
	})
}

func allOr(names []string) string {
	if names == nil {
		return "all"
	}
	return strings.Join(names, ",")
}

func parameters(params map[string]string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(params)) {
		parts = append(parts, name+"="+params[name])
	}
	return strings.Join(parts, " ")
}
