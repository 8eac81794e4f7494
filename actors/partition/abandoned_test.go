package partition_test

import (
	"maps"
	"testing"

	"pgregory.net/rapid"

	"taximeter/actors/partition"
	"taximeter/actors/trip"
	"taximeter/checkpoint"
	"taximeter/schemas"
)

// restorable is a chain of manifests of one partition, with what they hold, as far as
// restores are concerned.
type restorable struct {
	manifests []checkpoint.Manifest
	rows      map[checkpoint.Number]memStore // by Made
	outboxes  map[checkpoint.Number]schemas.Outbox

	marker checkpoint.Number
	public []checkpoint.Number // in the order of publishing
	out    published
}

var keepAll = checkpoint.Limits{Retain: 1000, MaxPending: 1000}

func newRestorable(t rapid.TB) *restorable {
	by := checkpoint.Stamp{By: "node", Token: "t"}
	m, err := checkpoint.Assign(checkpoint.Genesis("ns", [schemas.NumInputs]string{}, make([]checkpoint.Offsets, 1), by), keepAll, by,
		checkpoint.Start{Owner: "node", Incarnation: 1})
	if err != nil {
		t.Fatal(err)
	}
	return &restorable{manifests: []checkpoint.Manifest{m}, rows: map[checkpoint.Number]memStore{1: {}},
		outboxes: map[checkpoint.Number]schemas.Outbox{}, out: newPublished()}
}

func (c *restorable) tip() checkpoint.Manifest { return c.manifests[len(c.manifests)-1] }

func (c *restorable) seal(t rapid.TB, p *partition.Partition, rows memStore) {
	seal := checkpoint.NewSeal(c.tip(), 0, 0)
	cut := p.Seal(int64(seal.Number))
	rows.apply(cut.Changes)
	seal.Next, seal.Watermark, seal.Published, seal.Reached = cut.Next, cut.Watermark, c.marker, cut.Reached
	made := c.tip().Number + 1
	if !cut.Outbox.Empty() {
		seal.Outbox.File = checkpoint.FileOf([]byte{byte(made)}, func(sha string) string { return seal.Namespace.Outbox(seal.Place(), sha) })
	}
	next, rejected := checkpoint.NextCheckpoint(c.tip(), []checkpoint.Seal{seal}, nil, keepAll, checkpoint.Stamp{By: "node", Token: "t"})
	if len(rejected) > 0 {
		t.Fatal(rejected)
	}
	c.manifests = append(c.manifests, next)
	c.rows[made], c.outboxes[made] = maps.Clone(rows), cut.Outbox
	p.Committed(int64(seal.Number))
}

func (c *restorable) publish(t rapid.TB, most int) {
	for _, ref := range c.tip().Entries[0].Unpublished(c.marker) {
		if most--; most < 0 {
			return
		}
		c.out.take(t, c.outboxes[ref.Made])
		c.public = append(c.public, ref.Made)
		c.marker = ref.Made
	}
}

// begin starts a new run from the tip.
func (c *restorable) begin(t rapid.TB, s setup) (*partition.Partition, memStore) {
	next, err := checkpoint.Assign(c.tip(), keepAll, checkpoint.Stamp{By: "node", Token: "t"},
		checkpoint.Start{Owner: "node", Incarnation: checkpoint.Incarnation(len(c.manifests) + 1)})
	if err != nil {
		t.Fatal(err)
	}
	c.manifests = append(c.manifests, next)
	e := next.Entries[0]
	rows := maps.Clone(c.rows[e.Made])
	p := s.fresh(tariffs(), rows, 0)
	if len(rows) > 0 {
		p = s.restore(t, rows, 0)
	}
	if a := e.Abandoned; a != nil {
		c.publish(t, len(e.Pending)) // only then is it known what is public
		if err := p.FollowsOn(c.published(a)); err != nil {
			t.Fatal(err)
		}
	}
	return p, rows
}

// published is what a reader of the topics finds of the line left behind.
func (c *restorable) published(a *checkpoint.Abandoned) partition.Abandoned {
	found := partition.Abandoned{Trips: map[schemas.TripID]*trip.Public{}, Letters: map[partition.LetterID]bool{}, Next: a.Next, Watermark: a.Watermark}
	of := func(id schemas.TripID) *trip.Public {
		if found.Trips[id] == nil {
			found.Trips[id] = &trip.Public{Windows: map[schemas.Millis]schemas.Window{}}
		}
		return found.Trips[id]
	}
	for _, made := range c.public {
		if !a.Holds(made) {
			continue
		}
		for _, b := range c.outboxes[made].Bills {
			of(b.TripID).Bills = append(of(b.TripID).Bills, b)
		}
		for _, w := range c.outboxes[made].Windows {
			of(w.TripID).Windows[w.Start] = w
		}
		for _, l := range c.outboxes[made].DeadLetters {
			found.Letters[partition.LetterID{Topic: l.Topic, Offset: l.Offset}] = true
		}
	}
	return found
}

// Whatever checkpoints a partition is taken back to, and however the topics interleave in
// the replays: each version of each bill and window is published once, in order and only
// if it changes something, each dead letter once, and the finals are the same.
func TestRestoreToEarlierCheckpointsDoublesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := eventFile(160)
		// With a short horizon details are dropped before the replay has come to the end.
		short := rapid.Bool().Draw(t, "short horizon")
		if short {
			s.settings.Trip.Horizon = 10 * schemas.Minute
		}
		var topics [schemas.NumInputs][]schemas.Record
		arrival := namedByTopic(arrivalOf(t))
		for _, r := range arrival {
			topics[r.Topic] = append(topics[r.Topic], r)
		}
		chain := newRestorable(t)
		p, rows := chain.begin(t, s)
		for range rapid.IntRange(3, 40).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"consume", "consume", "consume", "checkpoint", "checkpoint", "publish", "kill", "restore"}).Draw(t, "do") {
			case "consume":
				topic := rapid.SampledFrom(schemas.Inputs[:]).Draw(t, "topic")
				consumeNext(t, p, topics[topic], rapid.IntRange(1, 4).Draw(t, "records"))
			case "checkpoint":
				chain.seal(t, p, rows)
			case "publish":
				chain.publish(t, rapid.IntRange(1, 3).Draw(t, "outboxes"))
			case "kill":
				p, rows = chain.begin(t, s)
			case "restore":
				old := rapid.SampledFrom(chain.manifests).Draw(t, "to")
				back, err := checkpoint.Restore(chain.tip(), old, keepAll, checkpoint.Stamp{By: "ana", Token: "t"})
				if err != nil {
					t.Fatal(err)
				}
				chain.manifests = append(chain.manifests, back)
				p, rows = chain.begin(t, s)
			}
		}
		for _, records := range topics {
			for consumeNext(t, p, records, 100) {
			}
		}
		if err := p.EndInput(); err != nil {
			t.Fatal(err)
		}
		chain.seal(t, p, rows)
		chain.publish(t, 1000)
		if chain.tip().Entries[0].Abandoned != nil {
			t.Fatal("still waits for a line left behind at the end of all input")
		}
		mustBalance(t, p)
		if !short { // else what is beyond the horizon depends on the interleaving
			mustEqual(t, p, chain.out, judge(arrival, 160))
		}
		letters := map[partition.LetterID]bool{}
		for _, made := range chain.public {
			for _, l := range chain.outboxes[made].DeadLetters {
				id := partition.LetterID{Topic: l.Topic, Offset: l.Offset}
				if letters[id] {
					t.Fatalf("dead letter %v twice", id)
				}
				letters[id] = true
			}
		}
	})
}

// An operator's jump is accounted for, also backwards, and survives a seal.
func TestAJumpIsCountedAsSkipped(t *testing.T) {
	s := eventFile(160)
	rows := memStore{}
	p := s.fresh(tariffs(), rows, 0)
	record := func(offset schemas.Offset) schemas.Record {
		e := schemas.Event{Topic: schemas.Rides, TripID: "a", EventID: nameOf(int(offset)), At: t0, Kind: schemas.RideMatch}
		return schemas.Record{Event: e, Offset: offset, AppendedAt: schemas.NoTime, Key: []byte("a")}
	}
	consume(t, p, []schemas.Record{record(0), record(1)}, 0)
	p.Jump(schemas.Rides, 10)
	consume(t, p, []schemas.Record{record(10), record(11)}, 0)
	mustBalance(t, p)
	rows.apply(p.Seal(1).Changes)
	p = s.restore(t, rows, 0)
	if pos := p.Position(schemas.Rides); pos.Next != 12 || pos.Skipped != 8 {
		t.Fatalf("%+v", pos)
	}
	p.Jump(schemas.Rides, 11) // once more
	consume(t, p, []schemas.Record{record(11)}, 0)
	mustBalance(t, p)
	if pos := p.Position(schemas.Rides); pos.Skipped != 7 || p.Ledger().Verdicts[schemas.Duplicate] != 1 {
		t.Fatalf("%+v, %+v", pos, p.Ledger())
	}
}

// A trip whose detail is dropped before the replay has come to the end speaks then: later
// its windows could not be compared any more.
func TestADroppedTripTellsWhatDiffersFromWhatIsPublic(t *testing.T) {
	s := eventFile(160)
	s.settings.Trip.Horizon = 10 * schemas.Minute
	p := s.fresh(tariffs(), memStore{}, 0)
	public := &trip.Public{Bills: []schemas.Bill{{TripID: "a", Version: 1, EventID: schemas.BillEventID("a", 1), Amount: 1}},
		Windows: map[schemas.Millis]schemas.Window{t0: {TripID: "a", Start: t0, Version: 3, Points: 9}}}
	if err := p.FollowsOn(partition.Abandoned{Trips: map[schemas.TripID]*trip.Public{"a": public},
		Next: [schemas.NumInputs]schemas.Offset{0, 0, 99}, Watermark: schemas.NoTime}); err != nil {
		t.Fatal(err)
	}
	offset := [schemas.NumInputs]schemas.Offset{}
	event := func(e schemas.Event) {
		t.Helper()
		e.EventID = nameOf(int(offset[0]+offset[1]) * 3)
		consume(t, p, []schemas.Record{{Event: e, Offset: offset[e.Topic], AppendedAt: schemas.NoTime, Key: []byte(e.TripID)}}, 0)
		offset[e.Topic]++
	}
	point := func(id schemas.TripID, at schemas.Millis) {
		event(schemas.Event{Topic: schemas.Telemetry, TripID: id, At: at, Kind: schemas.Position, Has: schemas.HasPosition, LatLon: schemas.LatLon{Lat: 41.15, Lon: -8.61}})
	}
	event(schemas.Event{Topic: schemas.Rides, TripID: "a", At: t0, Kind: schemas.RideStart})
	point("a", t0)
	event(schemas.Event{Topic: schemas.Rides, TripID: "a", At: t0 + schemas.Minute, Kind: schemas.RideEnd})
	later := func(at schemas.Millis) {
		point("b", at)
		event(schemas.Event{Topic: schemas.Rides, TripID: "b", At: at, Kind: schemas.RideMatch})
	}
	later(t0 + 8*schemas.Minute)
	if o := p.Seal(1).Outbox; !o.Empty() {
		t.Fatalf("it is not silent: %+v", o)
	}
	later(t0 + 20*schemas.Minute)
	cut := p.Seal(2)
	if cut.Reached {
		t.Error("the line's end is not reached")
	}
	o := cut.Outbox
	if len(o.Bills) != 1 || o.Bills[0].Version != 2 || o.Bills[0].Difference != o.Bills[0].Amount-1 || !o.Bills[0].Rectification {
		t.Errorf("bills %+v", o.Bills)
	}
	windows := 0
	for _, w := range o.Windows {
		if w.TripID == "a" {
			windows++
			if w.Start != t0 || w.Version != 4 || w.Points != 1 || w.Verdict != schemas.Rectified {
				t.Errorf("%+v", w)
			}
		}
	}
	if windows != 1 {
		t.Errorf("windows %+v", o.Windows)
	}
}
