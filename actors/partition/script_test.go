package partition_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"taximeter/actors/partition"
	"taximeter/actors/rule"
	"taximeter/actors/trip"
	"taximeter/schemas"
)

// The scripts under testdata/scripts read like a partition's day. Times are of
// 2026-01-01 unless a date is written; positions are metres north of a point in Porto.
//
//	new mode=live|replay|file [kmh=160] [rules] [store] [panic=ID,..] begins a partition;
//	                     panic: events with these ids panic, a trip with this id in every timer
//	tariff ID region/category from=.. base=.. km=.. min=.. minimum=.. fee=.. grace=..
//	point TRIP ID TIME NORTH                  telemetry; NORTH may be LAT,LON
//	ride TRIP ID TIME KIND                    ride event
//	pay TRIP ID TIME KIND AMOUNT              payment
//	  with any of: rectifies=ID region= category= surge= means= appended=TIME now=TIME at=LAT,LON own
//	tick NOW [telemetry=..] [rides=..]        wall clock; a source is caught-up, behind or unreachable
//	ended telemetry|rides, end                replay reached an end offset, the end of all input
//	restart NOW                               seal, restore from the rows
//	watermark, pause, idle, view TRIP, ledger, resident, sweep
//
// After each line stands what it published. bill lines: version, amount, difference, then what
// it was made of.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		s := &script{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s.t = t
			var out strings.Builder
			for _, line := range strings.Split(d.Input, "\n") {
				if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
					continue
				}
				if said := s.line(strings.Fields(line)); said != "" {
					fmt.Fprintf(&out, "%s\n  %s\n", line, strings.ReplaceAll(said, "\n", "\n  "))
				}
			}
			return out.String()
		})
	})
}

type script struct {
	t         *testing.T
	setup     setup
	p         *partition.Partition
	rows      memStore
	next      [schemas.NumInputs]schemas.Offset
	seals     int64
	revision  schemas.Offset
	anomalies [schemas.NumAnomalies]int64
}

// options are the k=v words of a line.
type options map[string]string

func (s *script) line(words []string) string {
	args, opts := []string{}, options{}
	for _, w := range words[1:] {
		if k, v, ok := strings.Cut(w, "="); ok {
			opts[k] = v
		} else {
			args = append(args, w)
		}
	}
	said := s.do(words[0], args, opts)
	return strings.TrimSuffix(said+s.effects(), "\n")
}

func (s *script) do(verb string, args []string, o options) string {
	switch verb {
	case "new":
		return s.begin(o, args)
	case "tariff":
		region, category, _ := strings.Cut(args[1], "/")
		from := schemas.Millis(0)
		if o["from"] != "" {
			from = s.time(o["from"])
		}
		err := s.p.PutTariff(s.revision, schemas.Tariff{TariffID: args[0], Region: region, Category: category, ValidFrom: from, Currency: "EUR",
			Base: s.micros(o["base"]), PerKm: s.micros(o["km"]), PerMin: s.micros(o["min"]), Minimum: s.micros(o["minimum"]),
			CancelFee: s.micros(o["fee"]), GraceS: s.number(o["grace"])})
		if err != nil {
			s.t.Fatal(err)
		}
		s.revision++
		return ""
	case "point", "ride", "pay":
		return s.record(verb, args, o)
	case "tick":
		now := s.time(args[0])
		status := [schemas.NumInputs]partition.SourceStatus{}
		for i, name := range []string{"telemetry", "rides"} {
			status[i] = partition.SourceStatus{CaughtUp: o[name] != "behind", FetchedAt: now}
			if o[name] == "unreachable" {
				status[i].FetchedAt = now - 11*schemas.Second
			}
		}
		s.ok(s.p.Tick(now, status))
		return s.time24(s.p.Watermark()) + "\n"
	case "ended":
		s.ok(s.p.EndSource(schemas.Topic(slices.Index([]string{"telemetry", "rides"}, args[0])), 0))
		return s.time24(s.p.Watermark()) + "\n"
	case "end":
		s.ok(s.p.EndInput())
		return ""
	case "restart":
		before := s.effects()
		s.seals++
		s.rows.apply(s.p.Seal(s.seals).Changes)
		s.p = s.setup.restore(s.t, s.rows, s.time(args[0]))
		return before
	case "sweep":
		s.effects()
		return fmt.Sprintf("evicted %d, resident %d\n", s.p.Sweep(0, 0), s.p.Resident())
	case "watermark":
		return s.time24(s.p.Watermark()) + "\n"
	case "pause":
		return fmt.Sprintf("%v\n", topicsOf(s.p.Pause()))
	case "idle":
		return fmt.Sprintf("%v\n", topicsOf([schemas.NumInputs]bool{s.p.SourceIdle(schemas.Telemetry), s.p.SourceIdle(schemas.Rides)}))
	case "resident":
		return fmt.Sprintf("%d in memory, %d rows\n", s.p.Resident(), max(0, len(s.rows)-1))
	case "view":
		return s.view(schemas.TripID(args[0]))
	case "ledger":
		var lines strings.Builder
		for v, n := range s.p.Ledger().Verdicts {
			if n > 0 {
				fmt.Fprintf(&lines, "%s %d\n", schemas.Verdict(v), n)
			}
		}
		return lines.String()
	}
	s.t.Fatalf("unknown command %q", verb)
	return ""
}

func (s *script) begin(o options, args []string) string {
	modes := map[string]partition.Mode{"live": partition.Live, "replay": partition.Replay, "file": partition.File}
	set := setup{modes[o["mode"]], partition.DefaultSettings(), &rule.Book{}, partition.Direct{}, 1}
	if o["mode"] == "file" {
		set.settings.Trip.Horizon = 0
	}
	if o["kmh"] != "" {
		set.settings.Trip.MaxSpeedKmh = float64(s.number(o["kmh"]))
	}
	if o["points"] != "" {
		set.settings.Trip.MaxPoints = s.number(o["points"])
	}
	if o["panic"] != "" {
		set.runner = panicking{strings.Split(o["panic"], ",")}
	}
	if slices.Contains(args, "rules") {
		set.book = everyRule()
	}
	now := t0
	if o["now"] != "" {
		now = s.time(o["now"])
	}
	*s = script{t: s.t, setup: set, rows: memStore{}}
	var store partition.Store
	if slices.Contains(args, "store") {
		store = s.rows
	}
	s.p = set.fresh(nil, store, now)
	return ""
}

// panicking is a runner in which some events and some trips' timers panic.
type panicking struct{ ids []string }

func (r panicking) Take(s *partition.Slot, env *trip.Env, e *schemas.Event) (schemas.Verdict, string) {
	if slices.Contains(r.ids, string(e.EventID)) {
		return 0, "boom"
	}
	return partition.Direct{}.Take(s, env, e)
}

func (r panicking) Advance(s *partition.Slot, env *trip.Env) string {
	if slices.Contains(r.ids, string(s.ID())) {
		return "boom"
	}
	return partition.Direct{}.Advance(s, env)
}

func (panicking) Evict(*partition.Slot) {}
func (panicking) Look(*partition.Slot)  {}

func (s *script) record(verb string, args []string, o options) string {
	e := schemas.Event{TripID: schemas.TripID(args[0]), EventID: schemas.EventID(args[1]), At: s.time(args[2]),
		Rectifies: schemas.EventID(o["rectifies"])}
	switch verb {
	case "point":
		e.Topic, e.Kind, e.Has, e.LatLon = schemas.Telemetry, schemas.Position, schemas.HasPosition, s.place(args[3])
	case "ride":
		e.Topic, e.Kind = schemas.Rides, schemas.KindOf(schemas.Rides, args[3])
		if v, ok := o["region"]; ok {
			e.Has, e.Ride.Region = e.Has|schemas.HasRegion, v
		}
		if v, ok := o["category"]; ok {
			e.Has, e.Ride.Category = e.Has|schemas.HasCategory, v
		}
		if v, ok := o["surge"]; ok {
			m, err := schemas.ParseDecimal(v, schemas.MilsScale, int64(schemas.MaxMils))
			s.ok(err)
			e.Has, e.Ride.Multiplier = e.Has|schemas.HasMultiplier, schemas.Mils(m)
		}
		if v, ok := o["at"]; ok {
			e.Has, e.LatLon = e.Has|schemas.HasPosition, s.place(v)
		}
	case "pay":
		e.Topic, e.Kind = schemas.Payments, schemas.KindOf(schemas.Payments, args[3])
		c, err := schemas.ParseDecimal(args[4], schemas.CentsScale, int64(schemas.MaxCents))
		s.ok(err)
		e.Payment = schemas.PaymentDetail{Amount: schemas.Cents(c), Currency: "EUR", Means: o["means"]}
	}
	r := schemas.Record{Event: e, Offset: s.next[e.Topic], AppendedAt: schemas.NoTime, Own: slices.Contains(args, "own"), Key: []byte(args[0])}
	s.next[e.Topic]++
	if o["appended"] != "" {
		r.AppendedAt = s.time(o["appended"])
	}
	now := e.At
	if o["now"] != "" {
		now = s.time(o["now"])
	}
	before := s.p.Ledger().Verdicts
	consume(s.t, s.p, []schemas.Record{r}, now)
	for v, n := range s.p.Ledger().Verdicts {
		if n != before[v] {
			return schemas.Verdict(v).String() + "\n"
		}
	}
	s.t.Fatalf("%v has no verdict", args)
	return ""
}

// effects seals, so that the outbox of this line can be read, and tells what is in it.
func (s *script) effects() string {
	var out strings.Builder
	s.seals++
	cut := s.p.Seal(s.seals)
	s.rows.apply(cut.Changes)
	s.p.Sweep(1<<30, 1<<30) // who expired leaves
	s.p.Committed(s.seals)
	for _, w := range cut.Outbox.Windows {
		fmt.Fprintf(&out, "window %s %s v%d: %d points, %d rejected, %d mm in %d ms", w.TripID, s.time24(w.Start), w.Version, w.Points, w.Rejected, w.DistanceMM, w.TimeMS)
		if w.Verdict != schemas.Counted {
			fmt.Fprintf(&out, " (%s)", w.Verdict)
		}
		out.WriteByte('\n')
	}
	for _, b := range cut.Outbox.Bills {
		fmt.Fprintf(&out, "bill %s v%d: %s (%s): %d mm, %d s, surge %s, tariff %s", b.TripID, b.Version, b.Amount, b.Difference, b.DistanceMM, b.DurationS, b.Multiplier, b.TariffID)
		if b.Motive != "" {
			fmt.Fprintf(&out, ", %s", b.Motive)
		}
		out.WriteByte('\n')
	}
	for _, l := range cut.Outbox.DeadLetters {
		if l.Reason == schemas.DLQPanic {
			fmt.Fprintf(&out, "letter %s %q offset %d: %s\n", l.TripID, l.EventID, l.Offset, l.Detail)
		}
	}
	for _, a := range s.p.Unsent() {
		fmt.Fprintf(&out, "alert %s %s onset %s decided %s\n", a.Kind, a.TripID, a.OnsetID, s.time24(a.DecidedAt))
	}
	s.p.Acknowledge(len(s.p.Unsent()))
	for k, n := range s.p.Ledger().Anomalies {
		if n > s.anomalies[k] {
			fmt.Fprintf(&out, "anomaly %s\n", schemas.AnomalyKind(k))
		}
		s.anomalies[k] = n
	}
	mustBalance(s.t, s.p)
	return out.String()
}

func (s *script) view(id schemas.TripID) string {
	v, known, err := s.p.View(id)
	s.ok(err)
	if !known {
		return "unknown\n"
	}
	why := ""
	if v.NotBilled != "" {
		why = ": " + v.NotBilled
	}
	return fmt.Sprintf("%s, %s, %d+%d+%d events, %s%s\n", v.Phase, v.Stage, v.Events.Telemetry, v.Events.Rides, v.Events.Payments, v.Reconciliation, why)
}

func (s *script) ok(err error) {
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *script) time(text string) schemas.Millis {
	layout := "2006-01-02T15:04:05.999"
	if !strings.Contains(text, "T") {
		text = "2026-01-01T" + text
	}
	at, err := time.Parse(layout, text)
	s.ok(err)
	return schemas.Millis(at.UnixMilli())
}

// time24 writes an instant the way the scripts do.
func (s *script) time24(at schemas.Millis) string {
	if at == schemas.NoTime || at == schemas.EndOfTime {
		return at.String()
	}
	return strings.TrimPrefix(at.Time().Format("2006-01-02T15:04:05.999"), "2026-01-01T")
}

func (s *script) place(text string) schemas.LatLon {
	if lat, lon, ok := strings.Cut(text, ","); ok {
		a, err := strconv.ParseFloat(lat, 64)
		s.ok(err)
		b, err := strconv.ParseFloat(lon, 64)
		s.ok(err)
		return schemas.LatLon{Lat: a, Lon: b}
	}
	metres, err := strconv.ParseFloat(text, 64)
	s.ok(err)
	const metresPerDegree = 111_195.0797343687
	return schemas.LatLon{Lat: 41.15 + metres/metresPerDegree, Lon: -8.61}
}

func (s *script) number(text string) int {
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	s.ok(err)
	return n
}

func (s *script) micros(text string) schemas.Micros {
	if text == "" {
		return 0
	}
	m, err := schemas.ParseDecimal(text, schemas.MicrosScale, int64(schemas.MaxMicros))
	s.ok(err)
	return schemas.Micros(m)
}

func topicsOf(set [schemas.NumInputs]bool) []schemas.Topic {
	topics := []schemas.Topic{}
	for i, in := range set {
		if in {
			topics = append(topics, schemas.Topic(i))
		}
	}
	return topics
}
