package partition_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"taximeter/actors/partition"
	"taximeter/actors/rule"
	"taximeter/actors/trip"
	"taximeter/schemas"
)

// step is one thing that happens to a partition. Those from seal on must change nothing.
type step struct {
	kind  stepKind
	batch []schemas.Record
	topic schemas.Topic
}

type stepKind uint8

const (
	stepConsume stepKind = iota
	stepTick             // by the wall clock, all sources caught up
	stepTariff           // the next of the catalogue
	stepEndSource
	stepSeal
	stepRestore // from the last seal, made right before
	stepSweep
)

// stepsOf interleaves an arrival with everything else that happens.
func stepsOf(t *rapid.T, mode partition.Mode) []step {
	var steps []step
	for _, b := range batches(namedByTopic(arrivalOf(t)), rapid.IntRange(1, 4).Draw(t, "batch")) {
		steps = append(steps, step{kind: stepConsume, batch: b})
		for range rapid.IntRange(0, 2).Draw(t, "between") {
			k := rapid.SampledFrom([]stepKind{stepTick, stepTariff, stepSeal, stepSeal, stepRestore, stepRestore, stepSweep}).Draw(t, "step")
			steps = append(steps, step{kind: k})
		}
	}
	if mode == partition.Replay {
		for topic := range schemas.Topic(schemas.NumInputs) {
			steps = append(steps, step{kind: stepEndSource, topic: topic}, step{kind: stepRestore})
		}
	}
	return steps
}

// namedByTopic makes event ids unique across topics, as UUIDs are: the contract names an
// alert by its onset's event id alone.
func namedByTopic(records []schemas.Record) []schemas.Record {
	name := func(id schemas.EventID, topic schemas.Topic) schemas.EventID {
		if id == "" {
			return ""
		}
		return schemas.EventID([]byte{'0' + byte(topic)}) + id[1:]
	}
	for i := range records {
		r := &records[i]
		r.EventID, r.Rectifies = name(r.EventID, r.Topic), name(r.Rectifies, r.Topic)
	}
	return records
}

// history is all that can be seen of a run from outside.
type history struct {
	bills     []schemas.Bill
	windows   []schemas.Window
	letters   []schemas.DeadLetter
	alerts    []schemas.Alert
	ledger    partition.Ledger
	positions [schemas.NumInputs]partition.Position
	watermark schemas.Millis
	views     map[schemas.TripID]trip.View
	tariffs   schemas.Offset
}

// play runs the steps; with interruptions it also seals, restores and sweeps.
func (s setup) play(t rapid.TB, steps []step, known int, interrupted bool) history {
	t.Helper()
	var h history
	var store partition.Store
	rows := memStore{}
	if interrupted {
		store = rows
	}
	now, number := t0, int64(0)
	p := s.fresh(tariffs()[:known], store, now)
	seal := func() {
		number++
		if number >= s.byAge {
			p.SetLayout(partition.ByAge)
		}
		cut := p.Seal(number)
		rows.apply(cut.Changes)
		if interrupted { // else nothing is read back, and a runner may have changed what is stored
			rows.mustBeFound(t)
		}
		p.Committed(number)
		h.bills = append(h.bills, cut.Outbox.Bills...)
		h.windows = append(h.windows, cut.Outbox.Windows...)
		h.letters = append(h.letters, cut.Outbox.DeadLetters...)
		for _, a := range p.Unsent() { // a forgotten trip that comes again may tell its facts again
			if s.settings.Trip.SummaryHorizon >= schemas.Day && slices.ContainsFunc(h.alerts, func(b schemas.Alert) bool { return a.AlertID == b.AlertID }) {
				t.Fatalf("told twice: %+v", a)
			}
			h.alerts = append(h.alerts, a)
		}
		p.Acknowledge(len(p.Unsent()))
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	trips := map[schemas.TripID]bool{}
	for _, st := range steps {
		now += 31 * schemas.Second // so that a source that did not rise in the last step is idle
		switch {
		case st.kind == stepConsume:
			for _, r := range st.batch {
				trips[r.TripID] = true
			}
			consume(t, p, st.batch, now)
		case st.kind == stepTick:
			fetched := partition.SourceStatus{CaughtUp: true, FetchedAt: now}
			check(p.Tick(now, [schemas.NumInputs]partition.SourceStatus{fetched, fetched, fetched}))
		case st.kind == stepTariff && known < len(tariffs()):
			check(p.PutTariff(schemas.Offset(known), tariffs()[known]))
			known++
		case st.kind == stepEndSource:
			check(p.EndSource(st.topic, now))
		case !interrupted:
		case st.kind == stepSeal:
			seal()
		case st.kind == stepRestore:
			seal()
			p = s.restore(t, rows, now)
		case st.kind == stepSweep:
			p.StartSweep(0, 0) // what changed since the last seal must stay
		}
		p.SweepSome(1)
	}
	h.views = make(map[schemas.TripID]trip.View)
	view := func() {
		for id := range trips {
			if v, known, err := p.View(id); err != nil {
				t.Fatal(err)
			} else if known {
				v.NextTimer = nil // may come earlier than needed, so it may differ
				h.views[id] = v
			}
		}
	}
	view()
	check(p.EndInput())
	view()
	seal()
	h.ledger, h.watermark, h.tariffs = p.Ledger(), p.Watermark(), p.Revision()
	for _, topic := range schemas.Inputs {
		h.positions[topic] = p.Position(topic)
	}
	mustBalance(t, p)
	// Trips woken by the same step of time act in no particular order among each other.
	slices.SortStableFunc(h.bills, func(a, b schemas.Bill) int { return cmp.Compare(a.TripID, b.TripID) })
	slices.SortStableFunc(h.windows, func(a, b schemas.Window) int { return cmp.Compare(a.TripID, b.TripID) })
	slices.SortStableFunc(h.alerts, func(a, b schemas.Alert) int { return cmp.Compare(a.TripID, b.TripID) })
	return h
}

// mustMatch compares two histories word for word.
func mustMatch(t rapid.TB, want, got history) {
	t.Helper()
	text := func(h history) []string {
		var lines []string
		add := func(what string, v any) {
			b, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, what+" "+string(b))
		}
		for _, v := range h.bills {
			add("bill", v)
		}
		for _, v := range h.windows {
			add("window", v)
		}
		for _, v := range h.letters {
			add("letter", v)
		}
		for _, v := range h.alerts {
			add("alert", v)
		}
		for _, id := range slices.Sorted(maps.Keys(h.views)) {
			add("view", h.views[id])
		}
		add("ledger", h.ledger)
		add("positions", h.positions)
		add("tariffs", h.tariffs)
		add("watermark", h.watermark)
		return lines
	}
	a, b := text(want), text(got)
	if slices.Equal(a, b) {
		return
	}
	for i := range max(len(a), len(b)) {
		x, y := "", ""
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		if x != y {
			t.Errorf("\nuninterrupted %s\ninterrupted   %s", x, y)
		}
	}
}

// everyRule is a book in which every kind of rule fires easily.
func everyRule() *rule.Book {
	of := func(id, kind string, params map[string]string) schemas.Rule {
		return schemas.Rule{RuleID: id, Version: 1, Kind: kind, Active: true, Params: params}
	}
	b, err := rule.NewBook([]schemas.Rule{
		of("a", "parada", map[string]string{"raioM": "100", "duracaoMin": "1"}),
		of("b", "velocidade", map[string]string{"limiarKmh": "20", "pontos": "1"}),
		of("c", "sem_sinal", map[string]string{"duracaoMin": "2"}),
		of("d", "cobranca_duplicada", map[string]string{"segundos": "300"}),
		of("e", "expressao", map[string]string{"expressao": "pontos > 2"}),
	}, func(string) (rule.Expression, error) { return manyPoints{}, nil })
	if err != nil {
		panic(err)
	}
	return b
}

type manyPoints struct{}

func (manyPoints) Holds(f *rule.Facts, _ schemas.Millis) (bool, error) { return f.Points > 2, nil }

// setups draws how partitions run: with or without rules and horizons, the latter so
// short that trips are dropped and forgotten within the half hour that a case lasts.
func setups(t *rapid.T) setup {
	s := eventFile(maxKmh().Draw(t, "maxKmh"))
	s.mode = rapid.SampledFrom([]partition.Mode{partition.File, partition.Replay, partition.Live}).Draw(t, "mode")
	if rapid.Bool().Draw(t, "rules") {
		s.book = everyRule()
	}
	if rapid.Bool().Draw(t, "horizons") {
		s.settings.Trip.Horizon = 4 * schemas.Minute
		s.settings.Trip.OpenHorizon = 9 * schemas.Minute
		s.settings.Trip.SummaryHorizon = rapid.SampledFrom([]schemas.Millis{6 * schemas.Minute, schemas.Day}).Draw(t, "summary")
		s.settings.Trip.NoEndAfter = 3 * schemas.Minute
	}
	s.byAge = int64(rapid.IntRange(1, 4).Draw(t, "byAge"))
	if rapid.IntRange(0, 3).Draw(t, "smallTracks") == 0 {
		s.settings.Trip.MaxPoints = 3
	}
	return s
}

// Sealing, starting again from a seal and letting trips leave memory change nothing that
// can be seen: same bills, windows, alerts, dead letters, verdicts and views.
func TestSealRestoreAndSweepChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := setups(t)
		steps := stepsOf(t, s.mode)
		known := rapid.IntRange(0, len(tariffs())).Draw(t, "tariffs")
		mustMatch(t, s.play(t, steps, known, false), s.play(t, steps, known, true))
	})
}

// reviving runs every step on a trip that has just been restored from its snapshot.
type reviving struct {
	t rapid.TB
}

func (r reviving) revive(s *partition.Slot) {
	b := s.Trip.AppendTo(nil)
	again, err := trip.Restore(b)
	if err != nil {
		r.t.Fatal(err)
	}
	if !bytes.Equal(again.AppendTo(nil), b) {
		r.t.Fatalf("trip %s: its restored snapshot is another", s.ID)
	}
	s.Trip = again
}

func (r reviving) Take(s *partition.Slot, env *trip.Env, e *schemas.Event) (schemas.Verdict, string) {
	r.revive(s)
	return partition.Direct{}.Take(s, env, e)
}

func (r reviving) Advance(s *partition.Slot, env *trip.Env) string {
	r.revive(s)
	return partition.Direct{}.Advance(s, env)
}

func (reviving) Evict(*partition.Slot) {}
func (reviving) Look(*partition.Slot)  {}

// A trip restored after every single step behaves as one that never was.
func TestRestoreAfterEveryStepChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := setups(t)
		steps := stepsOf(t, s.mode)
		want := s.play(t, steps, 5, false)
		s.runner = reviving{t}
		mustMatch(t, want, s.play(t, steps, 5, false))
	})
}

// A trip that is sealed and restored after each of many points, some late, some linked,
// goes through every way of writing its rows.
func TestATripOfManySealsIsTheSame(t *testing.T) {
	s := eventFile(160)
	var steps []step
	for i := range 60 {
		e := schemas.Event{Topic: schemas.Telemetry, Kind: schemas.Position, Has: schemas.HasPosition, TripID: "c", EventID: nameOf(i),
			At: t0 + schemas.Millis(i*7%60)*10*schemas.Second, LatLon: schemas.LatLon{Lat: 41.15 + 0.0005*float64(i*7%60), Lon: -8.61}}
		switch {
		case i%5 == 0:
			e.Rectifies = nameOf(i - 3)
		case i%5 == 1: // more decimals than a centimetre
			e.Lat += 1e-9
		}
		r := schemas.Record{Event: e, Offset: schemas.Offset(i), AppendedAt: schemas.NoTime, Key: []byte("c")}
		steps = append(steps, step{kind: stepConsume, batch: []schemas.Record{r}}, step{kind: stepSeal}, step{kind: stepSweep})
		if i%3 == 0 {
			steps = append(steps, step{kind: stepRestore})
		}
	}
	mustMatch(t, s.play(t, steps, 5, false), s.play(t, steps, 5, true))
}
