package host_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"taximeter/actors/host"
	"taximeter/actors/partition"
	"taximeter/actors/rule"
	"taximeter/checkpoint"
	"taximeter/schemas"
)

// watched is a State that tells when changes come.
type watched struct {
	*rows
	applied chan struct{}
}

func (w watched) Apply(changes []partition.Change) error {
	w.applied <- struct{}{}
	return w.rows.Apply(changes)
}

// However much has changed, events do not wait until a seal is written; and it does not hold them.
func TestEventsPassWhileASealIsWritten(t *testing.T) {
	state := watched{&rows{content: make(map[string][]byte)}, make(chan struct{}, 2)}
	r := newRunOn(t, &rule.Book{}, state, 0)
	const changed = 3000
	trips := make([]schemas.TripID, changed)
	for i := range trips {
		trips[i] = schemas.TripID(fmt.Sprint("c", i))
	}
	r.deliver(schemas.RideStart, t0, trips...)

	busy, free := make(chan struct{}), make(chan struct{})
	r.send(&host.Delivery{Pieces: slices.Values([]*schemas.Batch{{}}), Release: func() { close(busy); <-free }})
	<-busy
	cut := make(chan host.Cut, 1)
	r.send(&host.SealRequest{Number: 1, Layout: partition.ByAge, Done: func(c host.Cut, err error) {
		if err != nil {
			t.Error(err)
		}
		cut <- c
	}})
	r.send(&host.Delivery{Pieces: slices.Values([]*schemas.Batch{{}})}) // some is written behind it
	passed := make(chan struct{})
	last := schemas.Record{Offset: changed, AppendedAt: schemas.NoTime, Key: []byte("c7"),
		Event: schemas.Event{Topic: schemas.Rides, Kind: schemas.RideRating, TripID: "c7", EventID: "later", At: t0}}
	r.send(&host.Delivery{Pieces: slices.Values([]*schemas.Batch{{Records: []schemas.Record{last}}}), Release: func() {
		select {
		case <-state.applied:
			t.Error("the event waited until the seal was written")
		case <-time.After(100 * time.Millisecond): // long enough for a seal that is written to show
		}
		close(passed)
	}})
	close(free)
	<-passed
	if next := (<-cut).Next[schemas.Rides]; next != changed {
		t.Errorf("the seal ends at offset %d, want %d", next, changed)
	}
	for _, id := range trips {
		if trip, err := partition.ReadTrip(state, id); err != nil || trip == nil {
			t.Fatalf("trip %s: %v, %v", id, trip, err)
		}
	}
	// What came behind the cut is in the next seal.
	if c := r.seal(2); c.Unchanged || c.Next[schemas.Rides] != changed+1 {
		t.Errorf("the second seal ends at %d", c.Next[schemas.Rides])
	}
}

// While a partition moves nobody reads it: its last seal does not wait until trips have left memory.
func TestTheLastSealDoesNotWaitForASweep(t *testing.T) {
	state := watched{&rows{content: make(map[string][]byte)}, make(chan struct{}, 2)}
	r := newRunOn(t, &rule.Book{}, state, 0)
	trips := make([]schemas.TripID, 20_000) // far more than are swept behind the messages below
	for i := range trips {
		trips[i] = schemas.TripID(fmt.Sprint("c", i))
	}
	r.deliver(schemas.RideStart, t0, trips...)

	answered, asked := make(chan struct{}), make(chan struct{})
	r.send(&host.SealRequest{Number: 1, Layout: partition.ByAge, Done: func(_ host.Cut, err error) {
		if err != nil {
			t.Error(err)
		}
		close(answered)
		<-asked // the owner waits until what comes next lies in its mailbox
	}})
	<-answered
	<-state.applied
	late := schemas.Record{Offset: schemas.Offset(len(trips)), AppendedAt: schemas.NoTime, Key: []byte("c7"),
		Event: schemas.Event{Topic: schemas.Rides, Kind: schemas.RideRating, TripID: "c7", EventID: "later", At: t0}}
	r.send(&host.Delivery{Pieces: slices.Values([]*schemas.Batch{{Records: []schemas.Record{late}}}), Release: func() {}})
	cut := make(chan host.Cut, 1)
	r.send(&host.SealRequest{Number: 2, Layout: partition.ByAge, Last: true, Done: func(c host.Cut, err error) {
		if err != nil {
			t.Error(err)
		}
		cut <- c
	}})
	ended := make(chan struct{})
	for i := range 10 { // some is done behind each
		r.send(&host.Delivery{Pieces: slices.Values([]*schemas.Batch{{}}), Release: func() {
			if i < 9 {
				return
			}
			defer close(ended)
			select {
			case <-state.applied:
			case <-time.After(5 * time.Second):
				t.Error("the last seal waits for the sweep")
			}
		}})
	}
	close(asked)
	<-ended
	if c := <-cut; c.Next[schemas.Rides] != schemas.Offset(len(trips)+1) {
		t.Errorf("the last seal ends at offset %d", c.Next[schemas.Rides])
	}
}

// A seal that nobody waits for any more is still made before the last one: seals bear ascending numbers.
func TestTheLastSealComesBehindThoseThatWait(t *testing.T) {
	r := newRunOn(t, &rule.Book{}, &rows{content: make(map[string][]byte)}, 0)
	trips := make([]schemas.TripID, 5_000)
	for i := range trips {
		trips[i] = schemas.TripID(fmt.Sprint("c", i))
	}
	r.deliver(schemas.RideStart, t0, trips...)
	answered, asked := make(chan struct{}), make(chan struct{})
	made := make(chan checkpoint.SealNumber, 2)
	for _, request := range []host.SealRequest{{Number: 1}, {Number: 2}, {Number: 3, Last: true}} {
		request.Layout = partition.ByAge
		request.Done = func(_ host.Cut, err error) {
			if err != nil {
				t.Error(err)
			}
			if request.Number == 1 {
				close(answered)
				<-asked // the owner waits until the others lie in its mailbox
				return
			}
			made <- request.Number
		}
		r.send(&request)
		if request.Number == 1 {
			<-answered
		}
	}
	close(asked)
	if first, second := <-made, <-made; first != 2 || second != 3 {
		t.Errorf("seal %d was made before seal %d", first, second)
	}
}
