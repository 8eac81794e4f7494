package partition_test

import (
	"testing"

	"pgregory.net/rapid"

	"taximeter/actors/partition"
	"taximeter/schemas"
)

// tables are what sinks that take the committed outboxes in order end up with.
type tables struct {
	next     [schemas.NumInputs]schemas.Offset // after the last offset told
	verdicts [schemas.NumVerdicts + 1]int64    // NoRecord included
	trips    map[schemas.TripID]schemas.TripSummary
}

func newTables() *tables { return &tables{trips: map[schemas.TripID]schemas.TripSummary{}} }

func (x *tables) take(t rapid.TB, o schemas.Outbox) {
	t.Helper()
	for _, s := range o.Verdicts {
		if s.First != x.next[s.Topic] {
			t.Fatalf("%s: told from offset %d on, after all before %d", s.Topic, s.First, x.next[s.Topic])
		}
		for i, r := range s.Runs {
			if r.Length <= 0 || i > 0 && s.Runs[i-1].Verdict == r.Verdict {
				t.Fatalf("%s: runs %v", s.Topic, s.Runs)
			}
			x.verdicts[r.Verdict] += r.Length
		}
		x.next[s.Topic] = s.Next()
	}
	once := map[schemas.TripID]bool{}
	for _, trip := range o.Trips {
		if once[trip.TripID] {
			t.Fatalf("trip %s twice in one outbox", trip.TripID)
		}
		once[trip.TripID] = true
		x.trips[trip.TripID] = trip
	}
}

// mustTell compares the tables with the partition that told them.
func (x *tables) mustTell(t rapid.TB, p *partition.Partition) {
	t.Helper()
	control := int64(0)
	for _, topic := range schemas.Inputs {
		pos := p.Position(topic)
		control += pos.Control
		if x.next[topic] != pos.Next {
			t.Errorf("%s: told up to offset %d of %d", topic, x.next[topic], pos.Next)
		}
	}
	for v, n := range p.Ledger().Verdicts {
		if x.verdicts[v] != n {
			t.Errorf("%s: told %d, counted %d", schemas.Verdict(v), x.verdicts[v], n)
		}
	}
	if x.verdicts[schemas.NoRecord] != control {
		t.Errorf("told %d offsets without a record, counted %d", x.verdicts[schemas.NoRecord], control)
	}
	for id, got := range x.trips {
		v, known, err := p.View(id)
		if err != nil || !known {
			continue
		}
		version, amount := 0, schemas.Cents(0)
		if v.Bill != nil {
			version, amount = v.Bill.Version, v.Bill.Amount
		}
		if got.Phase != v.Phase || got.DistanceMM != v.DistanceMM || got.Points != v.Points || got.BillVersion != version || got.Amount != amount || got.Region != v.Region || got.Reconciliation != v.Reconciliation {
			t.Errorf("trip %s: told %+v, stands as %+v", id, got, v)
		}
	}
}

// An operator's jump tells what it skips; what is read again is told again.
func TestAJumpIsTold(t *testing.T) {
	p := eventFile(0).fresh(nil, memStore{}, t0)
	p.SetTell(partition.Tell{Verdicts: true})
	p.Jump(schemas.Rides, 5)
	consume(t, p, []schemas.Record{{Offset: 7, AppendedAt: schemas.NoTime, Key: []byte("a"),
		Event: schemas.Event{Topic: schemas.Rides, Kind: schemas.RideRating, TripID: "a", EventID: "1", At: t0}}}, t0)
	told := p.Seal(1).Outbox.Verdicts
	if len(told) != 1 || told[0].First != 0 || told[0].Next() != 8 || len(told[0].Runs) != 2 || told[0].Runs[0] != (schemas.VerdictRun{Verdict: schemas.NoRecord, Length: 7}) {
		t.Fatalf("told %+v", told)
	}
	p.Committed(1)
	p.Jump(schemas.Rides, 7)
	if told := p.Seal(2).Outbox.Verdicts; len(told) != 0 {
		t.Fatalf("told %+v", told)
	}
}

// Without a sink that wants them, outboxes hold neither verdicts nor trips.
func TestWhatNoSinkWantsIsNotTold(t *testing.T) {
	p := eventFile(0).fresh(nil, memStore{}, t0)
	p.Jump(schemas.Rides, 5)
	consume(t, p, []schemas.Record{{Offset: 7, AppendedAt: schemas.NoTime, Key: []byte("a"),
		Event: schemas.Event{Topic: schemas.Rides, Kind: schemas.RideRating, TripID: "a", EventID: "1", At: t0}}}, t0)
	if o := p.Seal(1).Outbox; !o.Empty() {
		t.Fatalf("told %+v", o)
	}
}
