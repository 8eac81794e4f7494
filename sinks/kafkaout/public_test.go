package kafkaout

import (
	"context"
	"fmt"
	"reflect"
	"testing"
	"time"

	"taximeter/checkpoint"
	"taximeter/schemas"
	"taximeter/schemas/avro"
)

// contracts is a registry that knows the ids of this package's tests.
func contracts(_ context.Context, id int) (string, error) {
	for known, topic := range map[int]string{1: schemas.TopicPayments, 2: schemas.TopicWindows} {
		if c, ok := avro.Of(topic); ok && known == id {
			return c.Schema, nil
		}
	}
	return "", fmt.Errorf("no schema %d", id)
}

// What is read back of outboxes equals what was published of them, and nothing else is.
func TestPublicResultsAreReadBackAsTheyWere(t *testing.T) {
	w := newWorld(t)
	mine, other := w.open(w.kafka), w.open(w.node("other"))
	speed, first := 41.123456789, schemas.MinInstant+1
	rich := outbox(6)
	rich.Bills[0].Version, rich.Bills[0].Rectification, rich.Bills[0].Difference, rich.Bills[0].Motive = 2, true, -5, schemas.MotiveVoided
	rich.Bills[0].EventID = schemas.BillEventID(rich.Bills[0].TripID, 2)
	rich.Windows[0].MaxKmh, rich.Windows[0].MeanKmh, rich.Windows[0].First, rich.Windows[0].Last = &speed, &speed, &first, &first
	rich.DeadLetters = []schemas.DeadLetter{
		{Topic: schemas.Rides, Partition: ours3, Offset: 77, Reason: schemas.DLQUnreadable, Value: []byte("x"), AppendedAt: schemas.NoTime},
		{Partition: ours3, Offset: -1, Reason: schemas.DLQPanic, AppendedAt: schemas.NoTime},
	}
	w.publish(mine, 5, outbox(5))
	w.publish(other, 6, outbox(4))
	w.publish(mine, 6, rich)
	w.publish(mine, 8, outbox(8))
	w.publish(mine, 9, outbox(9))

	got, err := w.kafka.Public(w.ctx(), ours3, schemas.Millis(time.Now().UnixMilli()), func(n checkpoint.Number) bool { return n == 6 || n == 8 }, contracts)
	if err != nil {
		t.Fatal(err)
	}
	want := Public{Bills: append(rich.Bills, outbox(8).Bills...), Windows: append(rich.Windows, outbox(8).Windows...),
		Letters: []Source{{schemas.Rides, 77}}}
	for i := range want.Bills { // the difference of a first version is its amount
		if want.Bills[i].Version == 1 {
			want.Bills[i].Difference = want.Bills[i].Amount
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if got, err := w.kafka.Public(w.ctx(), ours3, 0, func(checkpoint.Number) bool { return false }, contracts); err != nil || !reflect.DeepEqual(got, Public{}) {
		t.Errorf("%+v, %v", got, err)
	}
}
