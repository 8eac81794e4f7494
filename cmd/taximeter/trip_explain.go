package main

import (
	"fmt"
	"io"
	"regexp"
	"strconv"

	"github.com/spf13/cobra"

	"taximeter/actors/trip"
	"taximeter/cmd/internal/ui"
	"taximeter/schemas"
)

func newTripExplain() *cobra.Command {
	return tripCommand(&cobra.Command{
		Use:   "explain ID",
		Short: "Tell how a trip's bill came about, event by event and line by line",
		Example: `  taximeter trip explain t-4711
  taximeter trip explain t-4711 --json`,
	}, "/explain", explainTrip)
}

// Figures are exact in the API's answer; a person sees this many places.
const shownPlaces = 6

var decimals = regexp.MustCompile(`[0-9]+\.[0-9]+`)

func explainTrip(w io.Writer, x *trip.Explanation) {
	fmt.Fprintf(w, "trip %s, watermark %s\n", x.TripID, ui.Instant(x.Watermark))
	if len(x.Events) > 0 {
		fmt.Fprintf(w, "\n%s events, by time\n", ui.Count(len(x.Events)))
		eventTable(x.Events).Print(w, "  ")
	}
	if x.Tariff != nil {
		revision := "of the present catalogue"
		if x.Revision != nil {
			revision = "catalogue revision " + ui.Count(*x.Revision) + ", fixed by the first bill"
		}
		fmt.Fprintf(w, "\ntariff %s (%s, %s), in force from %s, %s\n", x.Tariff.TariffID, anyOr(x.Tariff.Region), anyOr(x.Tariff.Category),
			ui.Instant(x.Tariff.ValidFrom), revision)
	}
	for _, line := range x.Arithmetic {
		fmt.Fprintf(w, "  %s\n", decimals.ReplaceAllStringFunc(line, func(d string) string { return ui.Decimal(d, shownPlaces) }))
	}
	if len(x.Versions) > 0 {
		table := &ui.Table{Head: []string{">version", ">amount", ">difference", ">distance", ">duration", "motive"}}
		for _, v := range x.Versions {
			table.Add(strconv.Itoa(v.Version), ui.Group(v.Amount.String()), ui.Group(v.Difference.String()), ui.Km(v.DistanceMM), ui.Seconds(v.DurationS), string(v.Motive))
		}
		fmt.Fprintln(w, "\nbill, version by version")
		table.Print(w, "  ")
	}
	if x.NotBilled != "" {
		fmt.Fprintf(w, "\nnot billed: %s\n", x.NotBilled)
	}
}

func anyOr(s string) string {
	if s == schemas.Any {
		return "any"
	}
	return s
}
