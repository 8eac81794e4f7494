package chaos

import (
	"context"
	"errors"
	"sync"
	"time"

	"taximeter/cmd/internal/published"
	"taximeter/cmd/internal/world"
	"taximeter/schemas"
	"taximeter/schemas/edge"
)

// watch tells how long after its deciding record was sent an alert can be read, and when
// bills can.
type watch struct {
	mu      sync.Mutex // guards all below
	moments map[moment]time.Time
	alerts  []alerted
	bills   []time.Time // when each could be read
}

// moment is what an alert tells of the event that decided it.
type moment struct {
	trip schemas.TripID
	at   schemas.Millis
}

type alerted struct {
	moment
	read time.Time
}

func newWatch() *watch { return &watch{moments: make(map[moment]time.Time)} }

// sent hears of a line before it goes.
func (w *watch) sent(l *edge.Line) {
	var m moment
	switch {
	case l.Telemetry != nil:
		m = moment{l.Telemetry.TripID, l.Telemetry.At}
	case l.Ride != nil:
		m = moment{l.Ride.TripID, l.Ride.At}
	case l.Payment != nil:
		m = moment{l.Payment.TripID, l.Payment.At}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, again := w.moments[m]; !again {
		w.moments[m] = time.Now()
	}
}

// run reads alerts until ctx ends.
func (w *watch) run(ctx context.Context, where *world.World) error {
	results := make(chan published.Result)
	ended := make(chan error, 1)
	go func() { ended <- published.Follow(ctx, where.Kafka(), where.Registry(), results) }()
	for {
		select {
		case r := <-results:
			w.mu.Lock()
			if r.Alert != nil {
				w.alerts = append(w.alerts, alerted{moment{r.Alert.TripID, r.Alert.DecidedAt}, time.Now()})
			}
			if r.Bill != nil {
				w.bills = append(w.bills, time.Now())
			}
			w.mu.Unlock()
		case err := <-ended:
			if ctx.Err() != nil || errors.Is(err, context.Canceled) {
				return nil //nolint:nilerr // it ended because the run is over
			}
			return err
		}
	}
}

// between are the latencies of alerts whose record was sent from began to ended, without
// those of partitions that the fault holds up.
func (w *watch) between(began, ended time.Time, held func(schemas.Partition) bool) (latencies []time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, a := range w.alerts {
		sent, ok := w.moments[a.moment]
		if !ok || sent.Before(began) || sent.After(ended) || held(schemas.PartitionOf([]byte(a.trip), ordealPartitions)) {
			continue
		}
		latencies = append(latencies, a.read.Sub(sent))
	}
	return latencies
}

// billsBetween is how many bills could be read for the first time from began to ended.
func (w *watch) billsBetween(began, ended time.Time) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, at := range w.bills {
		if !at.Before(began) && at.Before(ended) {
			n++
		}
	}
	return n
}
