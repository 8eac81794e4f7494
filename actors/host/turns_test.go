package host_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"taximeter/actors/host"
)

func TestTurnsAreTakenByFewAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := host.NewTurns()
		most := max(1, runtime.GOMAXPROCS(0)/2)
		var overs []func()
		for range most {
			over, err := turns.Take(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			overs = append(overs, over)
		}
		soon, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := turns.Take(soon); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("one more than %d has a turn: %v", most, err)
		}
		overs[0]()
		overs[0]() // changes nothing
		if _, err := turns.Take(t.Context()); err != nil {
			t.Fatal(err)
		}
		// All turns are taken now by owners that hang.
		began := time.Now()
		for range most {
			if _, err := turns.Take(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if waited := time.Since(began); waited != time.Second {
			t.Errorf("waited %s for owners that hang", waited)
		}
	})
}
