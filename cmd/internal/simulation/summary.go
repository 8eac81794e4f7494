package simulation

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"taximeter/cmd/internal/ui"
	"taximeter/schemas"
)

// Summary is what a run did. Figures of bills and windows are of the versions that stand.
type Summary struct {
	Records        int64                    `json:"registros"`
	Verdicts       map[string]int64         `json:"vereditos"` // those that occurred
	Anomalies      map[string]int64         `json:"anomalias"` // those that occurred
	Trips          int                      `json:"viagens"`
	TripsMeasured  int                      `json:"viagensComJanelas"`
	Windows        int                      `json:"janelas"`
	WindowVersions int64                    `json:"versoesJanelas"`
	DistanceMM     int64                    `json:"distanciaMM"` // of the windows
	Bills          int                      `json:"faturas"`
	BillVersions   int64                    `json:"versoesFaturas"`
	BilledMM       int64                    `json:"distanciaFaturadaMM"`
	BilledS        int64                    `json:"duracaoFaturadaS"`
	Amounts        map[string]schemas.Cents `json:"valores"` // by currency
	Alerts         int64                    `json:"alertas"`
	Seconds        float64                  `json:"segundos"` // of wall time
	Out            string                   `json:"pasta"`
}

// tally adds results up. Of each trip's bill and of each window the newest version stands.
type tally struct {
	bills                        map[schemas.TripID]billed
	windows                      map[windowKey]int64 // distance in mm
	billVersions, windowVersions int64
	alerts                       int64
}

type billed struct {
	amount     schemas.Cents
	currency   string
	distanceMM int64
	durationS  int64
}

type windowKey struct {
	trip  schemas.TripID
	start schemas.Millis
}

func newTally() tally {
	return tally{bills: make(map[schemas.TripID]billed), windows: make(map[windowKey]int64)}
}

func (t *tally) bill(b *schemas.Bill) {
	t.billVersions++
	t.bills[b.TripID] = billed{b.Amount, b.Currency, b.DistanceMM, b.DurationS}
}

func (t *tally) window(w *schemas.Window) {
	t.windowVersions++
	t.windows[windowKey{w.TripID, w.Start}] = w.DistanceMM
}

func (s *simulation) summary(took time.Duration) Summary {
	t := &s.out.tally
	sum := Summary{Records: s.read, Verdicts: map[string]int64{}, Anomalies: map[string]int64{}, Amounts: map[string]schemas.Cents{},
		Windows: len(t.windows), WindowVersions: t.windowVersions, Bills: len(t.bills), BillVersions: t.billVersions,
		Alerts: t.alerts, Seconds: took.Seconds(), Out: s.options.Out}
	for _, p := range s.tasks {
		ledger := p.Ledger()
		for v, n := range ledger.Verdicts {
			addSome(sum.Verdicts, schemas.Verdict(v).String(), n)
		}
		for k, n := range ledger.Anomalies {
			addSome(sum.Anomalies, schemas.AnomalyKind(k).String(), n)
		}
		sum.Trips += p.Resident()
	}
	measured := make(map[schemas.TripID]bool)
	for key, mm := range t.windows {
		measured[key.trip] = true
		sum.DistanceMM += mm
	}
	sum.TripsMeasured = len(measured)
	for _, b := range t.bills {
		sum.Amounts[b.currency] += b.amount
		sum.BilledMM += b.distanceMM
		sum.BilledS += b.durationS
	}
	return sum
}

// addSome adds n to a count of what occurred; what did not has none.
func addSome(counts map[string]int64, word string, n int64) {
	if n > 0 {
		counts[word] += n
	}
}

// verdicts is the content of verdicts.json.
func (s *simulation) verdicts() map[string]any {
	all, total := map[string]int64{}, int64(0)
	parts := map[string]map[string]int64{}
	for _, p := range s.tasks {
		part := map[string]int64{}
		for v, n := range p.Ledger().Verdicts {
			addSome(part, schemas.Verdict(v).String(), n)
			addSome(all, schemas.Verdict(v).String(), n)
			total += n
		}
		parts[strconv.Itoa(int(p.ID()))] = part
	}
	out := map[string]any{"total": total, "particoes": parts}
	for word, n := range all {
		out[word] = n
	}
	return out
}

// Print tells the summary to a person.
func (s Summary) Print(w io.Writer) {
	row := func(label, figure, more string) {
		fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("%-32s %12s  %s", label, figure, more), " "))
	}
	took := time.Duration(s.Seconds * float64(time.Second))
	row("records", ui.Count(s.Records), fmt.Sprintf("in %s, %s", ui.Elapsed(took), ui.Rate(s.Records, took)))
	for v := range schemas.NumVerdicts {
		if n := s.Verdicts[v.String()]; n > 0 {
			row("  "+v.String(), ui.Count(n), "")
		}
	}
	row("trips", ui.Count(s.Trips), fmt.Sprintf("%s with windows", ui.Count(s.TripsMeasured)))
	row("windows", ui.Count(s.Windows), fmt.Sprintf("%s in %s versions", ui.Km(s.DistanceMM), ui.Count(s.WindowVersions)))
	row("bills", ui.Count(s.Bills), fmt.Sprintf("%s, %s in %s versions", ui.Km(s.BilledMM), ui.Seconds(s.BilledS), ui.Count(s.BillVersions)))
	for _, currency := range slices.Sorted(maps.Keys(s.Amounts)) {
		row("  "+currency, ui.Group(s.Amounts[currency].String()), "")
	}
	row("alerts", ui.Count(s.Alerts), "")
	for k := range schemas.NumAnomalies {
		if n := s.Anomalies[k.String()]; n > 0 {
			row("anomaly "+k.String(), ui.Count(n), "")
		}
	}
	fmt.Fprintf(w, "\nresults in %s: %s, %s, %s, %s, %s\n", s.Out, BillsFile, WindowsFile, AlertsFile, DeadLettersFile, VerdictsFile)
}
