//go:build integration

package chaos

import (
	"testing"
	"time"

	"taximeter/cmd/internal/chaos/inject"
)

// A process dies with transactions open and comes back when the broker has ended them.
func TestATransactionTimesOutWhileDown(t *testing.T) {
	died := at(inject.SentAfter, 2)
	died.Rest = 25 * time.Second // the timeouts are 22 s, and 7 s for alerts
	one(t, Options{Binary: build(t)}, []Life{died, at(inject.SentAfter, 1)})
}

func TestEveryPointByName(t *testing.T) {
	binary := build(t)
	for _, point := range inject.Points() {
		t.Run(string(point), func(t *testing.T) {
			t.Parallel()
			one(t, Options{Binary: binary}, []Life{at(point, 1), at(point, 3), at(point, 5)})
		})
	}
}

func TestManyCrashRuns(t *testing.T) {
	campaign(t, Options{Binary: build(t)}, 1000, 200)
}

func TestCrashRunsOnRealServers(t *testing.T) {
	real, err := RealFromEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	campaign(t, Options{Binary: build(t), Real: real}, 2000, 20)
}
