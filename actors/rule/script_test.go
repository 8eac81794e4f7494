package rule

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"taximeter/schemas"
)

// The scripts in testdata: `rules` sets the book, one version a line, and prints the faults
// or ok; `trip` runs a new trip, one arrival a line, and prints the alerts:
//
//	start 10:00:00 ID           the ride's INICIO; end likewise
//	point 10:00:00 ID north=M east=M [kmh=X]   metres from a fixed place
//	pay 10:00:00 ID 12.50       an AUTORIZACAO
//	event 10:00:00 ID           any other accepted event
//	in region=R category=C      what the trip's ride events said
//	route N,E N,E ...           rotaPrevista
//	watermark 10:00:00
//	due                         prints the next watermark at which something may be told
//
// Every script is run twice, the second time with the memory written and read back after
// every line; both runs must say the same.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		book := &Book{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "rules":
				var problems Problems
				book, problems = Compile(parseRules(t, d.Input), fakeCompiler)
				if len(problems) > 0 {
					return problems.Error() + "\n"
				}
				return "ok\n"
			case "trip":
				straight, restored := newTripWorld(t, book), newTripWorld(t, book)
				for line := range strings.Lines(d.Input) {
					straight.do(strings.TrimSpace(line))
					restored.do(strings.TrimSpace(line))
					restored.memory = reread(t, &restored.memory)
				}
				if straight.out.String() != restored.out.String() {
					t.Errorf("%s: with a restore after every line:\n%s", d.Pos, restored.out.String())
				}
				return straight.out.String()
			}
			t.Fatalf("%s: unknown command %s", d.Pos, d.Cmd)
			return ""
		})
	})
}

func reread(t interface {
	Helper()
	Fatalf(string, ...any)
}, m *Memory) Memory {
	t.Helper()
	b := m.AppendTo([]byte("before"))
	got, rest, err := Decode(append(b, "after"...)[len("before"):])
	if err != nil || string(rest) != "after" {
		t.Fatalf("decode: %v, rest %q", err, rest)
	}
	if again := got.AppendTo(nil); !bytes.Equal(again, b[len("before"):]) {
		t.Fatalf("snapshot %x read back is %x", b[len("before"):], again)
	}
	return got
}

// tripWorld is a trip as far as rules see it: it keeps the facts and drives the memory.
type tripWorld struct {
	t      testing.TB
	book   *Book
	memory Memory
	facts  Facts
	paid   []Payment
	out    strings.Builder
}

func newTripWorld(t testing.TB, b *Book) *tripWorld {
	return &tripWorld{t: t, book: b, facts: Facts{TripID: "t1", Start: schemas.NoTime, End: schemas.NoTime, LastAt: schemas.NoTime}}
}

func (w *tripWorld) do(line string) {
	verb, rest, _ := strings.Cut(line, " ")
	words := strings.Fields(rest)
	f := &w.facts
	switch verb {
	case "", "#":
	case "in":
		f.Region, f.Category = option(words, "region"), option(words, "category")
	case "route":
		f.Route = nil
		for _, word := range words {
			north, east, _ := strings.Cut(word, ",")
			f.Route = append(f.Route, place(number(w.t, north), number(w.t, east)))
		}
	case "watermark":
		w.memory.OnWatermark(w.book, f, clock(w.t, words[0]), w)
	case "due":
		fmt.Fprintf(&w.out, "due %s\n", hour(w.memory.NextDue(w.book, f)))
	case "start", "end", "event", "point", "pay":
		w.event(verb, clock(w.t, words[0]), schemas.EventID(words[1]), words[2:])
	default:
		w.t.Fatalf("unknown line %q", line)
	}
}

func (w *tripWorld) event(verb string, at schemas.Millis, id schemas.EventID, words []string) {
	f := &w.facts
	switch verb {
	case "start":
		f.Start, f.StartID = at, id
	case "end":
		f.End = at
	case "point":
		p := Point{ID: id, At: at, SpeedKmh: SpeedUnknown}
		p.LatLon = place(number(w.t, option(words, "north")), number(w.t, option(words, "east")))
		if kmh := option(words, "kmh"); kmh != "" {
			p.SpeedKmh = number(w.t, kmh)
		}
		f.Points++
		if at >= f.LastAt {
			f.LastAt, f.LastID, f.Last = at, id, p.LatLon
		}
		w.memory.OnPoint(w.book, f, p, w)
	case "pay":
		cents, err := schemas.ParseDecimal(words[0], 2, 1e9)
		if err != nil {
			w.t.Fatal(err)
		}
		p := Payment{id, at, schemas.Cents(cents)}
		f.Authorized += p.Amount
		w.memory.OnPayment(w.book, f, p, w.paid, w)
		w.paid = append(w.paid, p)
		slices.SortFunc(w.paid, func(a, b Payment) int {
			if a.before(b) {
				return -1
			}
			return 1
		})
	}
	w.memory.OnEvent(w.book, f, id, at, w)
}

func (w *tripWorld) Alert(a schemas.Alert) {
	if want := schemas.AlertID(a.RuleID, a.TripID, a.OnsetID); a.AlertID != want || a.TripID != w.facts.TripID {
		w.t.Errorf("alert id %s of trip %s, want %s", a.AlertID, a.TripID, want)
	}
	fmt.Fprintf(&w.out, "%s %s by %s/%d onset=%s@%s", hour(a.DecidedAt), a.Kind, a.RuleID, a.RuleVersion, a.OnsetID, hour(a.OnsetAt))
	for _, k := range slices.Sorted(maps.Keys(a.Details)) {
		fmt.Fprintf(&w.out, " %s=%s", k, a.Details[k])
	}
	w.out.WriteString("\n")
}

func (w *tripWorld) RuleFailed(f Failure) {
	a := f.Anomaly()
	fmt.Fprintf(&w.out, "%s %s/%d trip=%s event=%s: %v\n", a.Kind, f.RuleID, f.Version, a.TripID, a.EventID, f.Err)
}

// parseRules reads lines such as
//
//	ID v1 KIND from=09:00:00 [off] [regioes=a,b] [categorias=a,b] [name=value ...]
//
// An underscore in a value stands for a space.
func parseRules(t testing.TB, input string) []schemas.Rule {
	var rules []schemas.Rule
	for line := range strings.Lines(input) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		r := schemas.Rule{RuleID: strings.Trim(words[0], `"`), Kind: words[2], Active: true, Params: map[string]string{}}
		var err error
		if r.Version, err = strconv.Atoi(words[1][1:]); err != nil {
			t.Fatal(err)
		}
		for _, word := range words[3:] {
			name, value, _ := strings.Cut(word, "=")
			switch name {
			case "off":
				r.Active = false
			case "from":
				r.ValidFrom = clock(t, value)
			case "regioes":
				r.Regions = list(value)
			case "categorias":
				r.Categories = list(value)
			default:
				r.Params[name] = strings.ReplaceAll(value, "_", " ")
			}
		}
		rules = append(rules, r)
	}
	return rules
}

func list(value string) []string {
	if value == "" {
		return []string{}
	}
	return strings.Split(value, ",")
}

// fakeCompiler knows "pontos > N", "autorizado > N" and "erro", so that this package's
// tests need no expression language.
func fakeCompiler(text string) (Expression, error) {
	if text == "erro" {
		return fakeExpression{text, 0}, nil
	}
	name, limit, ok := strings.Cut(text, " > ")
	n, err := strconv.Atoi(limit)
	if !ok || err != nil || name != "pontos" && name != "autorizado" {
		return nil, errors.New("column 1: not understood")
	}
	return fakeExpression{name, int64(n)}, nil
}

type fakeExpression struct {
	name  string
	limit int64
}

func (e fakeExpression) Holds(f *Facts, at schemas.Millis) (bool, error) {
	switch e.name {
	case "pontos":
		return f.Points > e.limit, nil
	case "autorizado":
		return int64(f.Authorized) > e.limit*100, nil
	}
	return false, errors.New("division by zero")
}

var midnight = schemas.Millis(time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC).UnixMilli())

func clock(t testing.TB, text string) schemas.Millis {
	if text == "+inf" {
		return schemas.EndOfTime
	}
	at, err := time.Parse("15:04:05.999", text)
	if err != nil {
		t.Fatal(err)
	}
	return midnight + schemas.Millis(at.Sub(at.Truncate(24*time.Hour)).Milliseconds())
}

func hour(t schemas.Millis) string {
	if t == schemas.EndOfTime {
		return "never"
	}
	return strings.TrimSuffix(t.Time().Format("15:04:05.000"), ".000")
}

func place(north, east float64) schemas.LatLon {
	const degree = 6_371_008.8 * math.Pi / 180
	return schemas.LatLon{Lat: -30 + north/degree, Lon: -51 + east/(degree*math.Cos(-30*math.Pi/180))}
}

func option(words []string, name string) string {
	for _, word := range words {
		if value, ok := strings.CutPrefix(word, name+"="); ok {
			return value
		}
	}
	return ""
}

func number(t testing.TB, text string) float64 {
	if text == "" {
		return 0
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}
