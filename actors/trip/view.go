package trip

import (
	"fmt"

	"taximeter/schemas"
)

// View is what a person sees of a trip: GET /trips/{id}. It shares nothing with the State.
type View struct {
	TripID         schemas.TripID  `json:"tripId"`
	Phase          string          `json:"fase"`  // aguardando, em_curso, encerrada, cancelada
	Stage          string          `json:"etapa"` // detalhe, resumo
	Start          *schemas.Millis `json:"inicio"`
	StartInferred  bool            `json:"inicioInferido"`
	End            *schemas.Millis `json:"termino"`
	Region         string          `json:"regiao"`
	Category       string          `json:"categoria"`
	Multiplier     schemas.Mils    `json:"multiplicador"`
	DistanceMM     int64           `json:"distanciaMM"` // from the start until the end, or so far
	DurationS      int64           `json:"duracaoS"`
	Points         int             `json:"pontos"`
	Rejected       int             `json:"descartados"`
	Events         EventCounts     `json:"eventos"`
	Windows        []WindowView    `json:"janelas"`
	Bill           *schemas.Bill   `json:"fatura"`
	NotBilled      string          `json:"porQueSemFatura,omitempty"` // why there is no bill yet
	Reconciliation string          `json:"conciliacao"`
	NextTimer      *schemas.Millis `json:"proximoPrazo"` // watermark at which the trip acts next
	LastEvents     []EventView     `json:"ultimosEventos"`
}

// EventCounts is how many events the trip remembers, and how many came again.
type EventCounts struct {
	Telemetry  int `json:"telemetria"`
	Rides      int `json:"corrida"`
	Payments   int `json:"pagamento"`
	Remembered int `json:"idsLembrados"`
	Duplicates int `json:"duplicados"`
}

// WindowView is a window with the mark whether it was published.
type WindowView struct {
	schemas.Window
	Published bool `json:"publicada"`
}

// EventView is one event that the trip holds.
type EventView struct {
	Topic     string          `json:"topico"`
	EventID   schemas.EventID `json:"eventId"`
	Kind      string          `json:"tipo"`
	At        schemas.Millis  `json:"ocorridoEm"`
	Verdict   schemas.Verdict `json:"veredito"`
	Effective bool            `json:"temEfeito"`            // false: rectified by another, or of unknown kind
	Rectifies schemas.EventID `json:"retifica,omitempty"`   // link to another event
	Filter    string          `json:"filtro,omitempty"`     // telemetry: what the track filter decided
	SegmentMM *int64          `json:"segmentoMM,omitempty"` // telemetry: length from the last accepted point
	Amount    *schemas.Cents  `json:"valor,omitempty"`      // payments
}

const lastEvents = 10

// View shows the trip, all of whose points are in memory, under a watermark.
func (s *State) View(env *Env) View {
	sum := s.Summary(env.Watermark)
	v := View{TripID: s.id, Phase: sum.Phase, Stage: [...]string{"detalhe", "resumo", "resumo"}[s.stage], Start: known(sum.Start), End: known(sum.End),
		StartInferred: sum.StartInferred, Region: sum.Region, Category: sum.Category, Multiplier: s.story.multiplier,
		DistanceMM: sum.DistanceMM, DurationS: sum.DurationS, Points: sum.Points, Rejected: sum.Rejected,
		Bill: s.bill(), NotBilled: s.whyNotBilled(env), Reconciliation: sum.Reconciliation}
	if s.due != schemas.EndOfTime {
		v.NextTimer = known(s.due)
	}
	if s.stage != detailed && v.Bill != nil {
		v.Multiplier = v.Bill.Multiplier
	}
	v.Events = EventCounts{Telemetry: s.track.len(), Rides: len(s.rides), Payments: len(s.payments),
		Remembered: s.track.ids.len() + len(s.rides) + len(s.payments), Duplicates: int(s.duplicates)}
	for i := range s.track.windows {
		w := &s.track.windows[i]
		v.Windows = append(v.Windows, WindowView{s.window(w, schemas.Counted), w.version > 0})
	}
	all := s.events()
	v.LastEvents = all[max(0, len(all)-lastEvents):]
	return v
}

// known is an instant that may not be known.
func known(at schemas.Millis) *schemas.Millis {
	if at == schemas.NoTime {
		return nil
	}
	return &at
}

func (s *State) bill() *schemas.Bill {
	if s.billing.last == nil {
		return nil
	}
	b := *s.billing.last
	return &b
}

// whyNotBilled says in words what the bill waits for; "" when there is one.
func (s *State) whyNotBilled(env *Env) string {
	t := &s.story
	switch {
	case s.billing.last != nil && s.billing.last.Motive != schemas.MotiveVoided:
		return ""
	case s.stage != detailed:
		return "the trip's detail was dropped before a bill was due"
	case s.noTariff:
		return fmt.Sprintf("no tariff in force at %s for region %q, category %q", t.start, t.region.Region, t.category.Category)
	case t.phase == waiting:
		return "no start seen: neither an INICIO nor an accepted position"
	case t.phase == running:
		return "the trip goes on: no TERMINO (or CANCELAMENTO) at or after its start"
	case env.Watermark < t.end:
		return fmt.Sprintf("due when the partition's watermark reaches %s; it stands at %s", t.end, env.Watermark)
	case t.phase == cancelled && t.matchAt == schemas.NoTime:
		return "cancelled before a match: nothing is owed"
	case t.phase == cancelled:
		return "cancelled within the grace period after the match: nothing is owed"
	}
	return "nothing is owed"
}

// events lists everything the trip holds by (at, eventId).
func (s *State) events() []EventView {
	var all []EventView
	ri, pi := 0, 0
	upTo := func(at schemas.Millis, id schemas.EventID) {
		for ri < len(s.rides) || pi < len(s.payments) {
			switch r, p := ri < len(s.rides), pi < len(s.payments); {
			case r && (!p || s.order(s.rides[ri].at, s.rides[ri].id, s.payments[pi].at, s.payments[pi].id) <= 0):
				if later(s.rides[ri].at, s.names.id(s.rides[ri].id), at, id) {
					return
				}
				all = append(all, s.rideView(&s.rides[ri]))
				ri++
			default:
				if later(s.payments[pi].at, s.names.id(s.payments[pi].id), at, id) {
					return
				}
				all = append(all, s.paymentView(&s.payments[pi]))
				pi++
			}
		}
	}
	for i := range s.track.points {
		p := &s.track.points[i]
		id := s.track.ids.id(p.id)
		upTo(p.at, id)
		v := EventView{Topic: schemas.TopicTelemetry, EventID: id, Kind: schemas.Position.String(), At: p.at, Verdict: p.verdict,
			Effective: p.state != voided, Rectifies: s.links[id], Filter: p.state.String()}
		if p.state == accepted {
			mm := p.mm
			v.SegmentMM = &mm
		}
		all = append(all, v)
	}
	upTo(schemas.EndOfTime, "")
	return all
}

func (p pointState) String() string {
	return [...]string{"?", "rectified by another event", "accepted", "accepted as an anchor: no segment ends here",
		"rejected: faster than the limit", "rejected: same instant as the last accepted point"}[p]
}

func (s *State) rideView(r *ride) EventView {
	return EventView{Topic: schemas.TopicRides, EventID: s.names.id(r.id), Kind: r.kind.String(), At: r.at, Verdict: r.verdict,
		Effective: !r.void && r.kind != schemas.KindUnknown, Rectifies: s.names.id(r.rectifies)}
}

func (s *State) paymentView(p *payment) EventView {
	amount := p.amount
	return EventView{Topic: schemas.TopicPayments, EventID: s.names.id(p.id), Kind: p.kind.String(), At: p.at, Verdict: p.verdict,
		Effective: !p.void && p.kind != schemas.KindUnknown, Rectifies: s.names.id(p.rectifies), Amount: &amount}
}
