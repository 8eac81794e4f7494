package operator

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"taximeter/checkpoint"
	"taximeter/checkpoint/storetest"
	"taximeter/cluster"
	"taximeter/schemas"
)

const town checkpoint.Namespace = "town"

// owned is a chain of one partition, run by a, of which telemetry is sealed up to 10.
func owned(t *testing.T) (*storetest.Memory, *checkpoint.Chain) {
	t.Helper()
	st := storetest.NewMemory()
	chain := checkpoint.NewChain(st, town)
	m := checkpoint.Genesis(town, [schemas.NumInputs]string{"t", "e", "p"}, []checkpoint.Offsets{{10, 0, 0}}, checkpoint.Stamp{By: "a", Token: "1"})
	m.Entries[0].Owner, m.Entries[0].Epoch = "a", 1
	extend(t, chain, m)
	return st, chain
}

func extend(t *testing.T, chain *checkpoint.Chain, m checkpoint.Manifest) {
	t.Helper()
	if won, _, err := chain.Commit(t.Context(), m); !won || err != nil {
		t.Fatal(won, err)
	}
}

// sealed is the manifest after m, with telemetry sealed up to an offset, and an owner.
func sealed(m checkpoint.Manifest, to schemas.Offset, owner checkpoint.NodeID) checkpoint.Manifest {
	m.Number, m.Token = m.Number+1, m.Token+"+"
	m.Members = []checkpoint.NodeID{"a", "b"}
	e := m.Entries[0]
	e.Next[schemas.Telemetry], e.Owner = to, owner
	m.Entries = []checkpoint.Entry{e}
	return m
}

// beats lets a node put its heartbeats until ctx ends.
func beats(ctx context.Context, t *testing.T, st checkpoint.Store, id checkpoint.NodeID, stopped func(beat int64) []cluster.Stopped) {
	go func() {
		for beat := int64(1); ctx.Err() == nil; beat++ {
			if err := cluster.PutHeartbeat(ctx, st, town, id, cluster.Heartbeat{Beat: beat, Stopped: stopped(beat)}); err != nil {
				t.Error(err)
			}
			select {
			case <-time.After(cluster.HeartbeatEvery):
			case <-ctx.Done():
			}
		}
	}()
	<-time.After(time.Second) // the first lies there
}

func at(next schemas.Offset) []cluster.Stopped {
	return []cluster.Stopped{{Topic: schemas.Telemetry, Next: next}}
}

// settle runs Settle and tells how long it took and what it waited for.
func settle(ctx context.Context, st checkpoint.Store) (tip checkpoint.Manifest, took time.Duration, waited []Unsealed, err error) {
	began := time.Now()
	tip, err = Settle(ctx, st, checkpoint.NewChain(st, town), []schemas.Partition{0}, func(u Unsealed) { waited = append(waited, u) })
	return tip, time.Since(began), waited, err
}

func TestSettleWaitsForTheCheckpointOfWhatALiveOwnerHasRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, chain := owned(t)
		ctx, end := context.WithCancel(t.Context())
		defer end()
		// The first heartbeats were made before the input stood still.
		beats(ctx, t, st, "a", func(beat int64) []cluster.Stopped {
			if beat < 3 {
				return nil
			}
			return at(17)
		})
		go func() {
			<-time.After(20 * time.Second)
			tip, err := chain.Tip(ctx)
			if err != nil {
				t.Error(err)
			}
			for _, to := range []schemas.Offset{14, 17} {
				tip = sealed(tip, to, "a")
				extend(t, chain, tip)
			}
		}()
		tip, took, waited, err := settle(ctx, st)
		if err != nil || tip.Entries[0].Next[schemas.Telemetry] != 17 || took < 20*time.Second {
			t.Errorf("%+v after %s: %v", tip, took, err)
		}
		if want := (Unsealed{at(17)[0], "a", 10}); len(waited) == 0 || waited[0] != want {
			t.Errorf("waited for %+v", waited)
		}
	})
}

// Retention may have passed several topics. Whichever is mended first, the run is revoked.
func TestSettleWaitsForEveryTopicThatStandsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, chain := owned(t)
		ctx, end := context.WithCancel(t.Context())
		defer end()
		beats(ctx, t, st, "a", func(int64) []cluster.Stopped {
			return append(at(17), cluster.Stopped{Topic: schemas.Rides, Next: 0})
		})
		go func() {
			<-time.After(20 * time.Second)
			tip, err := chain.Tip(ctx)
			if err != nil {
				t.Error(err)
			}
			extend(t, chain, sealed(tip, 17, "a"))
		}()
		tip, took, _, err := settle(ctx, st)
		if err != nil || tip.Entries[0].Next[schemas.Telemetry] != 17 {
			t.Errorf("%+v after %s: %v", tip, took, err)
		}
		<-time.After(time.Minute)
	})
}

func TestSettleGoesByTheOwnerOfTheTip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, chain := owned(t)
		ctx, end := context.WithCancel(t.Context())
		defer end()
		beats(ctx, t, st, "a", func(int64) []cluster.Stopped { return at(17) })
		beats(ctx, t, st, "b", func(int64) []cluster.Stopped { return at(10) })
		go func() {
			<-time.After(30 * time.Second) // a's run was revoked before it sealed
			tip, err := chain.Tip(ctx)
			if err != nil {
				t.Error(err)
			}
			extend(t, chain, sealed(tip, 10, "b"))
		}()
		tip, _, _, err := settle(ctx, st)
		if err != nil || tip.Entries[0].Owner != "b" {
			t.Errorf("%+v: %v", tip, err)
		}
	})
}

func TestSettleKnowsTheDead(t *testing.T) {
	for name, c := range map[string]struct {
		owner checkpoint.NodeID
		beat  bool // one heartbeat, and no more
		took  time.Duration
	}{
		"nobody runs it":       {"", false, 0},
		"the owner has ended":  {"a", false, 0},
		"the owner was killed": {"a", true, cluster.HeartbeatPatience},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st, chain := owned(t)
				tip, err := chain.Tip(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				extend(t, chain, sealed(tip, 10, c.owner))
				if c.beat {
					if err := cluster.PutHeartbeat(t.Context(), st, town, "a", cluster.Heartbeat{Stopped: at(17)}); err != nil {
						t.Fatal(err)
					}
				}
				if _, took, waited, err := settle(t.Context(), st); err != nil || took != c.took || len(waited) > 0 {
					t.Errorf("%s, waited for %+v: %v", took, waited, err)
				}
			})
		})
	}
}

func TestSettleEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, _ := owned(t)
		ctx, end := context.WithTimeout(t.Context(), time.Minute)
		defer end()
		beats(ctx, t, st, "a", func(int64) []cluster.Stopped { return at(17) })
		if _, took, _, err := settle(ctx, st); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after %s: %v", took, err)
		}
	})
}
