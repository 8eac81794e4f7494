package analytics

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"taximeter/checkpoint"
	"taximeter/schemas"
	"taximeter/sinks"
)

// WindowRetention is how long janelas keeps a window, in event time: from its start to the
// newest window's.
const WindowRetention = schemas.Day

// rows is what one commit writes: of each trip and window the newest, by key. (Two
// transactions that lock rows in one order cannot lock each other out.)
type rows struct {
	trips   []tripRow
	windows []windowRow
}

// tripRow and windowRow point into the outbox and add the manifest that made it, and the trip
// id as the tables hold it.
type tripRow struct {
	*schemas.TripSummary
	id   string
	made checkpoint.Number
}

type windowRow struct {
	*schemas.Window
	id   string
	made checkpoint.Number
}

type windowKey struct {
	trip  string
	start schemas.Millis
}

// text is a string as every database takes it. Events are valid UTF-8, but PostgreSQL refuses
// NUL, and one such trip would stop the table for ever.
func text(s string) string { return strings.ReplaceAll(s, "\x00", "\uFFFD") }

// newest picks the rows out of items, which ascend by the manifest that made them.
func newest(items []sinks.Item) rows {
	var r rows
	trips, windows := map[string]struct{}{}, map[windowKey]struct{}{}
	for _, item := range slices.Backward(items) {
		for i := len(item.Outbox.Trips) - 1; i >= 0; i-- {
			t := &item.Outbox.Trips[i]
			id := text(string(t.TripID))
			if _, newer := trips[id]; !newer {
				trips[id] = struct{}{}
				r.trips = append(r.trips, tripRow{t, id, item.Made})
			}
		}
		for i := len(item.Outbox.Windows) - 1; i >= 0; i-- {
			w := &item.Outbox.Windows[i]
			key := windowKey{text(string(w.TripID)), w.Start}
			if _, newer := windows[key]; !newer {
				windows[key] = struct{}{}
				r.windows = append(r.windows, windowRow{w, key.trip, item.Made})
			}
		}
	}
	slices.SortFunc(r.trips, func(a, b tripRow) int { return strings.Compare(a.id, b.id) })
	slices.SortFunc(r.windows, func(a, b windowRow) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), strings.Compare(a.id, b.id))
	})
	return r
}

// retain drops the windows that are too old to be kept beside a newest one, which is last or
// of these rows, and returns the newest.
func (r *rows) retain(last schemas.Millis) schemas.Millis {
	for _, w := range r.windows {
		last = max(last, w.Start)
	}
	oldest := last.Add(-WindowRetention)
	r.windows = slices.DeleteFunc(r.windows, func(w windowRow) bool { return w.Start < oldest })
	return last
}

// instant makes of a point in time what a database takes; NoTime does not reach it.
type instant func(schemas.Millis) any

func millis(t schemas.Millis) any { return int64(t) }

func timestamp(t schemas.Millis) any { return time.UnixMilli(int64(t)).UTC() }

func (at instant) orNull(t schemas.Millis) any {
	if t == schemas.NoTime {
		return nil
	}
	return at(t)
}

func (at instant) pointer(t *schemas.Millis) any {
	if t == nil {
		return nil
	}
	return at(*t)
}

// float is a nullable number without the pointer.
func float(f *float64) any {
	if f == nil {
		return nil
	}
	return *f
}

// table is a table's columns in the order of values. The first ones, as many as keys says,
// identify a row.
type table struct {
	name    string
	columns []string
	keys    int
}

func tripTable(name string) table {
	return table{name, []string{"trip_id", "fase", "regiao", "categoria", "inicio", "termino", "inicio_inferido",
		"distancia_mm", "duracao_s", "pontos", "descartados", "fatura_versao", "valor_centavos", "moeda", "motivo",
		"conciliacao", "checkpoint_id", "atualizado_em"}, 1}
}

func (r tripRow) values(at instant, now schemas.Millis) []any {
	var amount any
	if r.BillVersion > 0 {
		amount = int64(r.Amount)
	}
	return []any{r.id, r.Phase, text(r.Region), text(r.Category), at.orNull(r.Start), at.orNull(r.End), r.StartInferred,
		r.DistanceMM, r.DurationS, int64(r.Points), int64(r.Rejected), int64(r.BillVersion), amount, text(r.Currency), string(r.Motive),
		r.Reconciliation, uint64(r.made), at(now)}
}

func windowTable(name string) table {
	return table{name, []string{"trip_id", "janela_inicio", "versao", "pontos", "descartados", "distancia_mm", "tempo_ms",
		"velocidade_max_kmh", "velocidade_media_kmh", "primeiro", "ultimo", "veredito", "checkpoint_id", "atualizado_em"}, 2}
}

func (r windowRow) values(at instant, now schemas.Millis) []any {
	return []any{r.id, at(r.Start), int64(r.Version), int64(r.Points), int64(r.Rejected), r.DistanceMM, r.TimeMS,
		float(r.MaxKmh), float(r.MeanKmh), at.pointer(r.First), at.pointer(r.Last), r.Verdict.String(), uint64(r.made), at(now)}
}

// upsert is the statement that puts what source yields into the table; a row that stands is
// replaced only by one of a later manifest.
func (t table) upsert(source string) string {
	set := make([]string, 0, len(t.columns))
	for _, c := range t.columns[t.keys:] {
		set = append(set, c+" = excluded."+c)
	}
	return "INSERT INTO " + t.name + " (" + strings.Join(t.columns, ", ") + ") " + source +
		" ON CONFLICT (" + strings.Join(t.columns[:t.keys], ", ") + ") DO UPDATE SET " + strings.Join(set, ", ") +
		" WHERE excluded.checkpoint_id > " + t.name + ".checkpoint_id"
}
