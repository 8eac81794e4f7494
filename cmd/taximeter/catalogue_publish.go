package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"taximeter/cmd/internal/catalogue"
	"taximeter/cmd/internal/ui"
	"taximeter/schemas"
	"taximeter/schemas/edge"
)

func newCataloguePublish() *cobra.Command {
	var to remote
	var tariffs, rules string
	var dryRun, asJSON bool
	c := &cobra.Command{
		Use:   "publish --tariffs F --rules F",
		Short: "Publish tariffs and alert rules from JSON files",
		Long: `Publish tariffs and alert rules, JSON arrays of Tarifa and Regra, to ` + schemas.TopicTariffs + `
and ` + schemas.TopicRules + `. Both files are checked before anything is sent; what is in force as
it stands is not sent again, and nothing that the files leave out is taken back.

Running nodes take them at once. A new tariff reaches trips that start from its
vigenteDesde on and have no bill yet; bills keep the prices of their first version.`,
		Example: `  taximeter catalogue publish --tariffs tarifas.json --rules regras.json --dry-run
  taximeter catalogue publish --tariffs tarifas.json --brokers kafka:9092 --registry http://registry:8081`,
		Args: arguments("nothing", 0, 0),
		RunE: func(c *cobra.Command, _ []string) (err error) {
			if tariffs == "" && rules == "" {
				return usage(errors.New("nothing to publish; give --tariffs FILE, --rules FILE or both"))
			}
			var p publication
			if tariffs != "" {
				if p.tariffs, err = readTariffs(tariffs); err != nil {
					return err
				}
			}
			if p.rules, _, err = readRules(rules); err != nil {
				return err
			}
			if err := p.run(c.Context(), &to, dryRun); err != nil {
				return err
			}
			if asJSON {
				return printJSON(c, p.summary())
			}
			p.print(c.OutOrStdout(), strings.Join(to.Brokers, ","))
			return nil
		},
	}
	f := c.Flags()
	f.StringVar(&tariffs, "tariffs", "", "tariffs, a JSON array of Tarifa")
	f.StringVar(&rules, "rules", "", "alert rules, a JSON array of Regra")
	to.flags(c)
	f.BoolVar(&dryRun, "dry-run", false, "only tell what would be new and what changed")
	f.BoolVar(&asJSON, "json", false, "print what is new and what changed as JSON")
	return c
}

// publication is one run of publish.
type publication struct {
	tariffs []schemas.Tariff
	rules   []schemas.Rule

	tariffChanges catalogue.Changes[schemas.Tariff]
	ruleChanges   catalogue.Changes[schemas.Rule]
	sent          bool
}

func (p *publication) run(ctx context.Context, to *remote, dryRun bool) error {
	client, _, err := to.kafka(ctx, catalogueTopics)
	if err != nil {
		return err
	}
	defer client.Close()
	schemaClient, err := to.schemas()
	if err != nil {
		return err
	}
	have, err := catalogue.Read(ctx, to.Kafka, schemaClient)
	if err != nil {
		return to.noRegistry(err)
	}
	p.tariffChanges, p.ruleChanges = have.TariffChanges(p.tariffs), have.RuleChanges(p.rules)
	if dryRun {
		return nil
	}
	p.sent = true
	return to.noRegistry(catalogue.Publish(ctx, client, schemaClient, p.tariffChanges.Effective(), p.ruleChanges.Effective()))
}

// publicationSummary is what a publication did, as JSON.
type publicationSummary struct {
	Tariffs publicationPart `json:"tarifas"`
	Rules   publicationPart `json:"regras"`
	Sent    bool            `json:"enviado"` // false: a dry run
}

// publicationPart lists record keys.
type publicationPart struct {
	New       []string `json:"novas"`
	Changed   []string `json:"mudadas"`
	Unchanged []string `json:"iguais"`
}

func (p *publication) summary() publicationSummary {
	return publicationSummary{keysOf(p.tariffChanges, edge.TariffKey), keysOf(p.ruleChanges, edge.RuleKey), p.sent}
}

func keysOf[T any](c catalogue.Changes[T], key func(*T) string) publicationPart {
	keys := func(all []T) []string {
		out := make([]string, len(all))
		for i := range all {
			out[i] = key(&all[i])
		}
		return out
	}
	return publicationPart{keys(c.New), keys(c.Changed), keys(c.Unchanged)}
}

func (p *publication) print(w io.Writer, where string) {
	printChanges(w, "tariffs", p.tariffChanges, func(t *schemas.Tariff) string {
		return fmt.Sprintf("%s for %s, %s, in force from %s", t.TariffID, anyOr(t.Region), anyOr(t.Category), ui.Instant(t.ValidFrom))
	})
	printChanges(w, "rules", p.ruleChanges, func(r *schemas.Rule) string {
		return fmt.Sprintf("%s version %d, in force from %s", r.RuleID, r.Version, ui.Instant(r.ValidFrom))
	})
	switch n := len(p.tariffChanges.Effective()) + len(p.ruleChanges.Effective()); {
	case n == 0:
		fmt.Fprintf(w, "nothing to send: all of it is in force at %s\n", where)
	case p.sent:
		fmt.Fprintf(w, "published to %s\n", where)
	default:
		fmt.Fprintf(w, "dry run: nothing was sent to %s\n", where)
	}
}

func printChanges[T any](w io.Writer, what string, c catalogue.Changes[T], describe func(*T) string) {
	if len(c.New)+len(c.Changed)+len(c.Unchanged) == 0 {
		return
	}
	fmt.Fprintf(w, "%-8s %s new, %s changed, %s unchanged\n", what, ui.Count(len(c.New)), ui.Count(len(c.Changed)), ui.Count(len(c.Unchanged)))
	for i := range c.New {
		fmt.Fprintf(w, "  new      %s\n", describe(&c.New[i]))
	}
	for i := range c.Changed {
		fmt.Fprintf(w, "  changed  %s\n", describe(&c.Changed[i]))
	}
}
