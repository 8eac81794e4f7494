package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"taximeter/actors/trip"
	"taximeter/cluster/admin"
	"taximeter/cmd/internal/ui"
	"taximeter/schemas"
)

func newTripShow() *cobra.Command {
	return tripCommand(&cobra.Command{
		Use:   "show ID",
		Short: "Show where a trip stands: what was measured, its bill, its windows, its last events",
		Example: `  taximeter trip show t-4711
  taximeter trip show t-4711 --admin http://node-2:8080 --json`,
	}, "", showTrip)
}

// phases are the words of a trip's phase in English.
var phases = map[string]string{"aguardando": "waiting for a start", "em_curso": "in progress", "encerrada": "ended", "cancelada": "cancelled"}

func showTrip(w io.Writer, t *admin.TripAnswer) {
	row := func(label, text string) { fmt.Fprintf(w, "%-12s %s\n", label, text) }
	phase := phases[t.Phase]
	if t.Stage == "resumo" {
		phase += "; detail dropped, the summary is left"
	}
	row("trip", string(t.TripID))
	row("state", phase)
	row("where", fmt.Sprintf("region %s, category %s, multiplier %s", named(t.Region), named(t.Category), t.Multiplier))
	if t.Start != nil {
		inferred := ""
		if t.StartInferred {
			inferred = "  (inferred from the first position: no INICIO)"
		}
		row("start", ui.Instant(*t.Start)+inferred)
	}
	if t.End != nil {
		row("end", ui.Instant(*t.End))
	}
	row("measured", fmt.Sprintf("%s in %s, %s points and %s rejected", ui.Km(t.DistanceMM), ui.Seconds(t.DurationS), ui.Count(t.Points), ui.Count(t.Rejected)))
	if t.Bill != nil {
		row("bill", describeBill(t.Bill))
	}
	if t.NotBilled != "" {
		row("not billed", t.NotBilled)
	}
	row("payments", t.Reconciliation)
	row("events", fmt.Sprintf("%s telemetry, %s ride, %s payment; %s ids remembered, %s duplicates", ui.Count(t.Events.Telemetry), ui.Count(t.Events.Rides),
		ui.Count(t.Events.Payments), ui.Count(t.Events.Remembered), ui.Count(t.Events.Duplicates)))
	if t.NextTimer != nil {
		row("next timer", ui.Instant(*t.NextTimer)+" by the watermark")
	}
	row("partition", fmt.Sprintf("%d at %s, watermark %s", t.Partition, named(t.Owner), ui.Instant(t.Watermark)))
	next := make([]string, 0, schemas.NumInputs)
	for _, topic := range schemas.Inputs {
		next = append(next, fmt.Sprintf("%s %s", topic, ui.Count(t.NextOffsets[topic])))
	}
	row("next offsets", strings.Join(next, ", "))
	if len(t.Windows) > 0 {
		fmt.Fprintln(w, "\nwindows of five minutes")
		windowTable(t.Windows).Print(w, "  ")
	}
	if len(t.LastEvents) > 0 {
		fmt.Fprintln(w, "\nlast events")
		eventTable(t.LastEvents).Print(w, "  ")
	}
}

func describeBill(b *schemas.Bill) string {
	text := fmt.Sprintf("%s %s, version %d, tariff %s", ui.Group(b.Amount.String()), b.Currency, b.Version, b.TariffID)
	if b.Rectification {
		text += fmt.Sprintf(", a rectification of %s", signed(b.Difference))
	}
	if b.Motive != schemas.MotiveNone {
		text += ", " + string(b.Motive)
	}
	return text
}

func signed(c schemas.Cents) string {
	if c > 0 {
		return "+" + ui.Group(c.String())
	}
	return ui.Group(c.String())
}

// named stands in for a name that is not known.
func named(s string) string {
	if s == "" {
		return "(none)"
	}
	return s
}

func windowTable(windows []trip.WindowView) *ui.Table {
	table := &ui.Table{Head: []string{"start", ">points", ">rejected", ">distance", ">max km/h", ">mean km/h", ">version", "published"}}
	kmh := func(v *float64) string {
		if v == nil {
			return "-"
		}
		return strconv.FormatFloat(*v, 'f', 1, 64)
	}
	for i := range windows {
		x := &windows[i]
		published := "not yet"
		if x.Published {
			published = "yes"
		}
		table.Add(ui.Instant(x.Start), ui.Count(x.Points), ui.Count(x.Rejected), ui.Km(x.DistanceMM), kmh(x.MaxKmh), kmh(x.MeanKmh),
			strconv.Itoa(x.Version), published)
	}
	return table
}

func eventTable(events []trip.EventView) *ui.Table {
	table := &ui.Table{Head: []string{"at", "kind", "verdict", ">segment", "note", "eventId"}}
	for i := range events {
		e := &events[i]
		segment := ""
		if e.SegmentMM != nil {
			segment = schemas.FormatDecimal(*e.SegmentMM, 3) + " m"
		}
		table.Add(ui.Instant(e.At), e.Kind, e.Verdict.String(), segment, eventNote(e), string(e.EventID))
	}
	return table
}

// eventNote is what else there is to say of an event.
func eventNote(e *trip.EventView) string {
	var notes []string
	if e.Amount != nil {
		notes = append(notes, ui.Group(e.Amount.String()))
	}
	if e.Filter != "" && e.Filter != "accepted" {
		notes = append(notes, e.Filter)
	}
	if e.Rectifies != "" {
		notes = append(notes, "rectifies "+string(e.Rectifies))
	}
	if !e.Effective && e.Filter == "" {
		notes = append(notes, "no effect")
	}
	return strings.Join(notes, "; ")
}
