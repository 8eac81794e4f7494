package partition_test

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"taximeter/actors/partition"
	"taximeter/actors/rule"
	"taximeter/schemas"
)

// entry is one link of the chain that a coordinator decides.
type entry struct {
	number int64
	rows   memStore // the files of its cut
	unsent []schemas.Alert
	outbox schemas.Outbox
	base   int64 // number of the entry that it grew from
	log    int   // place in the log of sent alerts after the last acknowledged
}

// A partition that is killed at any moment, with seals open, commits unheard of and the
// topics interleaved anew at each replay, publishes each version of each bill and window
// once and ends with the same finals.
func TestKillAndRecoverPublishesEverythingOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := eventFile(160)
		s.book = everyRule()
		var topics [schemas.NumInputs][]schemas.Record
		arrival := namedByTopic(arrivalOf(t))
		for _, r := range arrival {
			topics[r.Topic] = append(topics[r.Topic], r)
		}
		byAge := int64(rapid.IntRange(1, 6).Draw(t, "byAge"))
		chain := []entry{{rows: memStore{}}}
		var open []entry
		rows := memStore{}
		base, number := int64(0), int64(0)
		var sent []schemas.SentAlert // the log of alerts
		log := 0
		out, tables := newPublished(), newTables()
		p := s.fresh(tariffs(), rows, 0)
		seal := func() {
			number++
			p.SetTell(partition.Tell{Verdicts: true, Trips: true})
			if number >= byAge {
				p.SetLayout(partition.ByAge)
			}
			cut := p.Seal(number)
			rows.apply(cut.Changes)
			p.Sweep(1<<30, 1<<30) // trips stay, points may leave
			log = len(sent)       // of the acknowledged: sending and acknowledging are one step here
			open = append(open, entry{number, maps.Clone(rows), cut.Unsent, cut.Outbox, base, log})
		}
		commit := func(e entry) {
			chain = append(chain, e)
			out.take(t, e.outbox)
			tables.take(t, e.outbox)
		}
		heard := func() {
			tip := chain[len(chain)-1]
			if base != tip.number {
				base = tip.number
				p.Committed(base)
			}
		}
		seal()
		commit(open[0])
		heard()
		for range rapid.IntRange(3, 40).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"consume", "consume", "consume", "seal", "commit", "heard", "send", "kill"}).Draw(t, "do") {
			case "consume":
				topic := rapid.SampledFrom(schemas.Inputs[:]).Draw(t, "topic")
				consumeNext(t, p, topics[topic], rapid.IntRange(1, 4).Draw(t, "records"))
			case "seal":
				seal()
			case "commit":
				tip := chain[len(chain)-1].number
				open = slices.DeleteFunc(open, func(e entry) bool { return e.base != tip })
				if len(open) > 0 {
					commit(rapid.SampledFrom(open).Draw(t, "which"))
				}
			case "heard":
				heard()
			case "send":
				n := rapid.IntRange(0, len(p.Unsent())).Draw(t, "alerts")
				for _, a := range p.Unsent()[:n] {
					told := schemas.SentAlert{AlertID: a.AlertID, RuleID: a.RuleID, TripID: a.TripID}
					if slices.Contains(sent, told) {
						t.Fatalf("alert %s of trip %s sent twice", a.RuleID, a.TripID)
					}
					sent = append(sent, told)
				}
				p.Acknowledge(n)
			case "kill":
				tip := chain[len(chain)-1]
				rows, base, log, open = maps.Clone(tip.rows), tip.number, tip.log, nil
				p = s.restore(t, rows, 0)
				p.Recover(tip.unsent, sent[log:], nil)
			}
		}
		for _, records := range topics {
			for consumeNext(t, p, records, 100) {
			}
		}
		if err := p.EndInput(); err != nil {
			t.Fatal(err)
		}
		heard()
		seal()
		commit(open[len(open)-1])
		mustBalance(t, p)
		mustEqual(t, p, out, judge(arrival, 160))
		tables.mustTell(t, p)
	})
}

// consumeNext feeds the next records of one topic; false when there are none.
func consumeNext(t rapid.TB, p *partition.Partition, records []schemas.Record, n int) bool {
	t.Helper()
	for len(records) > 0 && records[0].Offset < p.Position(records[0].Topic).Next {
		records = records[1:]
	}
	if len(records) > 0 {
		consume(t, p, records[:min(n, len(records))], 0)
	}
	return len(records) > 0
}

// Each outbox begins at the base's cut: what a later seal holds beyond the committed one waits on.
func TestCommittedLeavesWhatIsNewer(t *testing.T) {
	p := eventFile(0).fresh(nil, nil, 0)
	dead := func(offset schemas.Offset) {
		consume(t, p, []schemas.Record{{Offset: offset, Event: schemas.Event{Topic: schemas.Payments}, AppendedAt: schemas.NoTime}}, 0)
	}
	waiting := func(want int) {
		t.Helper()
		if _, _, letters := p.Waiting(); letters != want {
			t.Fatalf("%d letters wait, want %d", letters, want)
		}
	}
	dead(0)
	first := p.Seal(1)
	dead(1)
	second := p.Seal(2)
	dead(2)
	if len(first.Outbox.DeadLetters) != 1 || len(second.Outbox.DeadLetters) != 2 {
		t.Fatalf("outboxes of %d and %d letters, want 1 and 2", len(first.Outbox.DeadLetters), len(second.Outbox.DeadLetters))
	}
	p.Committed(1)
	waiting(2)
	p.Committed(2)
	waiting(1)
	p.Committed(1) // heard again
	p.Committed(9) // another incarnation's
	waiting(1)
	if third := p.Seal(3); len(third.Outbox.DeadLetters) != 1 || third.Outbox.DeadLetters[0].Offset != 2 {
		t.Fatalf("third outbox %+v", third.Outbox)
	}
}

// An alert sent before a kill is not sent again by replay, not even when a second kill
// falls between the first seal of the new owner and the replay of the event: the seal knows.
func TestSentAlertsSurviveTwoKills(t *testing.T) {
	s := eventFile(0)
	s.book = everyRule()
	rows := memStore{}
	var charges []schemas.Record
	for i := range schemas.Offset(2) {
		charges = append(charges, schemas.Record{Offset: i, Key: []byte("c"), AppendedAt: schemas.NoTime, Event: schemas.Event{Topic: schemas.Payments,
			Kind: schemas.PayAuthorization, TripID: "c", EventID: nameOf(int(i)), At: t0, Payment: schemas.PaymentDetail{Amount: 500}}})
	}
	p := s.fresh(nil, rows, 0)
	rows.apply(p.Seal(1).Changes)
	before := maps.Clone(rows)
	consume(t, p, charges, 0)
	if len(p.Unsent()) != 1 {
		t.Fatalf("alerts %+v, want one", p.Unsent())
	}
	sent := []string{p.Unsent()[0].AlertID}

	p = s.restore(t, before, 0)
	p.Recover(nil, []schemas.SentAlert{{AlertID: sent[0], RuleID: "d", TripID: "c"}}, nil)
	cut := p.Seal(2)
	before.apply(cut.Changes)
	if !slices.Equal(cut.Seen, sent) || len(cut.Unsent) != 0 {
		t.Fatalf("seal knows %v, unsent %v", cut.Seen, cut.Unsent)
	}
	p = s.restore(t, before, 0)
	p.Recover(cut.Unsent, nil, nil)
	consume(t, p, charges, 0)
	if len(p.Unsent()) != 0 {
		t.Fatalf("told again: %+v", p.Unsent())
	}
	if cut := p.Seal(3); len(cut.Seen) != 0 {
		t.Fatalf("%v was reached and need not be known any more", cut.Seen)
	}
}

// Replay sees each topic in order, but not the topics against each other as the run before
// did. What began with the ride event there begins with the point here, and is told once.
func TestAFactIsToldOnceThoughReplaySeesTheTopicsInAnotherOrder(t *testing.T) {
	s := eventFile(0)
	book, err := rule.NewBook([]schemas.Rule{{RuleID: "cara", Version: 1, Kind: "expressao", Active: true,
		Params: map[string]string{"expressao": "multiplicador > 1 && pontos > 0"}}}, func(string) (rule.Expression, error) { return dearAndMoving{}, nil })
	if err != nil {
		t.Fatal(err)
	}
	s.book = book
	double := schemas.Mils(2000)
	of := func(topic schemas.Topic, trip, id string, second schemas.Millis) schemas.Record {
		r := schemas.Record{Key: []byte(trip), AppendedAt: schemas.NoTime,
			Event: schemas.Event{Topic: topic, TripID: schemas.TripID(trip), EventID: schemas.EventID(id), At: t0 + second*schemas.Second}}
		if topic == schemas.Rides {
			r.Kind, r.Ride.Multiplier = schemas.RideMatch, double
			r.Has |= schemas.HasMultiplier
		} else {
			r.Kind, r.LatLon = schemas.Position, schemas.LatLon{Lat: -23.5, Lon: -46.6}
			r.Has |= schemas.HasPosition
		}
		return r
	}
	point, match := of(schemas.Telemetry, "c", "point", 10), of(schemas.Rides, "c", "match", 5)
	start := of(schemas.Rides, "c", "start", 0)
	start.Kind, start.Has, start.Ride = schemas.RideStart, 0, schemas.RideDetail{}
	match.Offset = 1

	rows := memStore{}
	p := s.fresh(nil, rows, 0)
	rows.apply(p.Seal(1).Changes)
	consume(t, p, []schemas.Record{start, point, match}, 0)
	unsent := p.Unsent()
	if len(unsent) != 1 || unsent[0].OnsetID != "match" {
		t.Fatalf("alerts %+v, want one that begins with the ride event", unsent)
	}
	sent := []schemas.SentAlert{{AlertID: unsent[0].AlertID, RuleID: "cara", TripID: "c"}}

	p = s.restore(t, rows, 0)
	p.Recover(nil, sent, nil)
	consume(t, p, []schemas.Record{start, match, point}, 0)
	if len(p.Unsent()) != 0 {
		t.Fatalf("told again: %+v", p.Unsent())
	}
	if cut := p.Seal(2); !slices.Equal(cut.Seen, []string{sent[0].AlertID}) {
		t.Fatalf("the seal knows %v, but %v may still come", cut.Seen, sent)
	}
	other := of(schemas.Rides, "d", "other", 20)
	other.Offset = 2
	moved := of(schemas.Telemetry, "d", "moved", 21)
	moved.Offset = 1
	p.Recover(nil, sent, nil) // of another trip: it says nothing of this one
	consume(t, p, []schemas.Record{other, moved}, 0)
	if len(p.Unsent()) != 1 {
		t.Fatalf("alerts %+v, want the other trip's", p.Unsent())
	}
}

// charge is an authorization for trip c; two of an amount within a minute are an alert.
func charge(offset schemas.Offset, second schemas.Millis, amount schemas.Cents) schemas.Record {
	return schemas.Record{Offset: offset, Key: []byte("c"), AppendedAt: schemas.NoTime, Event: schemas.Event{Topic: schemas.Payments,
		Kind: schemas.PayAuthorization, TripID: "c", EventID: nameOf(int(offset)), At: t0 + second*schemas.Second, Payment: schemas.PaymentDetail{Amount: amount}}}
}

// What was sent before the cut, or is not reached by the end of the replay, does not stand for
// the trip's next fact.
func TestTheNextFactOfATripIsTold(t *testing.T) {
	for name, recover := range map[string]func(p *partition.Partition, sent schemas.SentAlert){
		"the cut knew it": func(p *partition.Partition, sent schemas.SentAlert) { p.Recover(nil, nil, []string{sent.AlertID}) },
		"it was not reached": func(p *partition.Partition, sent schemas.SentAlert) {
			p.Recover(nil, []schemas.SentAlert{sent}, nil)
			at := partition.SourceStatus{CaughtUp: true, FetchedAt: t0}
			if err := p.Tick(t0, [schemas.NumInputs]partition.SourceStatus{at, at, at}); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := eventFile(0)
			s.book = everyRule()
			rows := memStore{}
			p := s.fresh(nil, rows, 0)
			consume(t, p, []schemas.Record{charge(0, 0, 500), charge(1, 1, 500)}, 0)
			a := p.Unsent()[0]
			sent := schemas.SentAlert{AlertID: a.AlertID, RuleID: a.RuleID, TripID: a.TripID}
			p.Acknowledge(1)
			rows.apply(p.Seal(1).Changes)
			p = s.restore(t, rows, 0)
			recover(p, sent)
			consume(t, p, []schemas.Record{charge(2, 3600, 700), charge(3, 3601, 700)}, 0)
			if len(p.Unsent()) != 1 {
				t.Errorf("alerts %+v, want the second charge's", p.Unsent())
			}
		})
	}
}

// Facts of one rule and trip come in their order, so each stands for the first that replay tells
// under an id that nobody knows. Were it any of them, the one that is left would swallow the next
// fact, which the run before had decided and not told. Found by model/onsets.pml.
func TestOfSeveralFactsTheFirstToldStandsForTheFirst(t *testing.T) {
	const facts = 6
	var charges []schemas.Record
	for i := range schemas.Offset(facts) {
		at, amount := schemas.Millis(i)*600, schemas.Cents(500+100*i)
		charges = append(charges, charge(2*i, at, amount), charge(2*i+1, at+1, amount))
	}
	s := eventFile(0)
	s.book = everyRule()
	rows := memStore{}
	p := s.fresh(nil, rows, 0)
	rows.apply(p.Seal(1).Changes)
	consume(t, p, charges, 0)
	decided := slices.Clone(p.Unsent())
	if len(decided) != facts {
		t.Fatalf("%d alerts of %d facts", len(decided), facts)
	}
	var sent []schemas.SentAlert
	for i, a := range decided[:facts-1] {
		told := schemas.SentAlert{AlertID: a.AlertID, RuleID: a.RuleID, TripID: a.TripID}
		if i == 0 {
			told.AlertID = "of another onset"
		}
		sent = append(sent, told)
	}
	for range 20 { // whoever takes any of them is right now and then
		p = s.restore(t, rows, 0)
		p.Recover(nil, sent, nil)
		consume(t, p, charges, 0)
		if left := p.Unsent(); len(left) != 1 || left[0].AlertID != decided[facts-1].AlertID {
			t.Errorf("told are %+v, want the one that was not told before: %s", left, decided[facts-1].AlertID)
		}
	}
}

// What the run before told and this order of the topics does not stands for no fact that comes
// after one that both tell: the next would be swallowed.
func TestAFactThatThisOrderDoesNotTellStandsForNoLaterOne(t *testing.T) {
	s := eventFile(0)
	s.book = everyRule()
	rows := memStore{}
	p := s.fresh(nil, rows, 0)
	rows.apply(p.Seal(1).Changes)
	charges := []schemas.Record{charge(0, 0, 500), charge(1, 1, 500), charge(2, 600, 700), charge(3, 601, 700)}
	consume(t, p, charges, 0)
	decided := slices.Clone(p.Unsent())
	if len(decided) != 2 {
		t.Fatalf("alerts %+v, want one of each two charges", decided)
	}
	p = s.restore(t, rows, 0)
	p.Recover(nil, []schemas.SentAlert{
		{AlertID: "not told here", RuleID: decided[0].RuleID, TripID: "c"},
		{AlertID: decided[0].AlertID, RuleID: decided[0].RuleID, TripID: "c"}}, nil)
	consume(t, p, charges, 0)
	if left := p.Unsent(); len(left) != 1 || left[0].AlertID != decided[1].AlertID {
		t.Errorf("told are %+v, want %s, which was told by nobody", left, decided[1].AlertID)
	}
}

type dearAndMoving struct{}

func (dearAndMoving) Holds(f *rule.Facts, _ schemas.Millis) (bool, error) {
	return f.Multiplier > 1000 && f.Points > 0, nil
}
