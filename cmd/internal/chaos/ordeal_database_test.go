//go:build integration

package chaos

import (
	"testing"

	"taximeter/internal/sqlserver"
)

// databaseOrdeal makes a node feed a lake and the analytical table on each kind of server while
// that server is in trouble and the node itself is killed twice. Every row must be right in
// the end, no alert late, and no more memory used than without a fault.
func databaseOrdeal(t *testing.T, seed uint64, fault Fault, also func(*testing.T, *Endured)) {
	t.Helper()
	t.Parallel()
	for i, kind := range []sqlserver.Kind{sqlserver.Postgres, sqlserver.ClickHouse} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			x := DrawOrdeal(seed+uint64(i), fault, 2*tenMinutes)
			x.Tables, x.Database, x.Kills, x.Rate = true, kind, 2, 400
			e := ordeal(t, Options{Readers: readers(t)}, x)
			e.alertsKept(t)
			e.says(t, "a sink cannot be fed; it will be tried again, everything else goes on")
			if e.Bills == 0 || e.Checkpoints < 3 || e.Met == 0 {
				t.Errorf("%d bills and %d checkpoints meanwhile, the fault did harm %d times", e.Bills, e.Checkpoints, e.Met)
			}
			const most = 512 << 20 // bytes
			if e.Memory > most || e.MemoryAfter > most {
				t.Errorf("%d MB during the fault, %d MB after it", e.Memory>>20, e.MemoryAfter>>20)
			}
			if also != nil {
				also(t, &e)
			}
		})
	}
}

func TestTheAnalyticalServerIsDownForTenMinutes(t *testing.T) {
	databaseOrdeal(t, 20, DatabaseDown, func(t *testing.T, e *Endured) {
		const soon = 5 // checkpoints; the lake is well
		if e.Behind["analytics"] < e.Checkpoints || e.Behind["lake"] > soon {
			t.Errorf("of %d checkpoints tables lack %v", e.Checkpoints, e.Behind)
		}
	})
}

func TestTheAnalyticalServersConnectionsAreCut(t *testing.T) {
	databaseOrdeal(t, 22, DatabaseCut, nil)
}

func TestTheAnalyticalServersAnswersAfterTheCommitAreDropped(t *testing.T) {
	databaseOrdeal(t, 24, DatabaseDeaf, nil)
}

func TestTheAnalyticalServerIsKilledOverAndOver(t *testing.T) {
	databaseOrdeal(t, 26, DatabaseKilled, nil)
}
