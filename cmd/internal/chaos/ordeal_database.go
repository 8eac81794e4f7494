package chaos

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"taximeter/internal/sqlserver"
)

// What the server of the analytical table does in an ordeal.
const (
	DatabaseDown   Fault = "database-down"   // nobody listens where it was
	DatabaseCut    Fault = "database-cut"    // one chunk in twenty-five passes half, either way, and its connection ends
	DatabaseDeaf   Fault = "database-deaf"   // of three answers to a commit two are dropped, and the connection ends
	DatabaseKilled Fault = "database-killed" // it is killed (-9) and started again, over and over
)

// databaseFaults need a server.
var databaseFaults = []Fault{DatabaseDown, DatabaseCut, DatabaseDeaf, DatabaseKilled}

// sickDatabase is one of them.
type sickDatabase struct {
	quiet
	run *ordealRun
	met atomic.Int64 // times that it did harm

	stop   context.CancelFunc
	killed chan error // how the killing ended
}

func (d *sickDatabase) begin(ctx context.Context) error {
	relay := d.run.database.relay
	switch d.run.x.Fault {
	case DatabaseDown:
		d.met.Add(1)
		return relay.refuse()
	case DatabaseCut:
		relay.observe(d.cuts())
	case DatabaseDeaf:
		relay.observe(d.deaf())
	case DatabaseKilled:
		ctx, d.stop = context.WithCancel(ctx)
		d.killed = make(chan error, 1)
		go func() { d.killed <- d.kill(ctx) }()
	}
	return nil
}

func (d *sickDatabase) end(context.Context) error {
	relay := d.run.database.relay
	switch d.run.x.Fault {
	case DatabaseDown:
		return relay.admit()
	case DatabaseKilled:
		return d.close()
	}
	relay.observe(nil)
	return nil
}

// close lets the server be as it is, running.
func (d *sickDatabase) close() error {
	if d.stop == nil {
		return nil
	}
	d.stop()
	d.stop = nil
	return <-d.killed
}

// kill ends the server again and again, each time after a while that is no longer than two
// checkpoints take, and leaves it running.
func (d *sickDatabase) kill(ctx context.Context) error {
	rng := rand.New(rand.NewPCG(d.run.x.Seed, 6))
	server := d.run.database.server
	for pause(ctx, time.Duration(rng.Int64N(int64(2*d.run.x.Checkpoint)))) {
		err := server.Kill()
		if err == nil {
			err = server.Start(context.WithoutCancel(ctx))
		}
		if err != nil {
			return err
		}
		d.met.Add(1)
	}
	return nil
}

// dice are one sequence for all connections.
func (d *sickDatabase) dice() (oneIn func(n int) bool) {
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(d.run.x.Seed, 5))
	return func(n int) bool {
		mu.Lock()
		defer mu.Unlock()
		return rng.IntN(n) == 0
	}
}

func (d *sickDatabase) cuts() func() eye {
	// About as many as a commit has, so that some pass and some are cut in their middle: with
	// one in ten no commit to PostgreSQL came as far as its progress.
	const chunks = 25
	oneIn := d.dice()
	return func() eye {
		return func(_ bool, chunk []byte) int {
			if !oneIn(chunks) {
				return len(chunk)
			}
			d.met.Add(1)
			return len(chunk) / 2
		}
	}
}

// deaf drops what a server says when it has committed: PostgreSQL names it, and ClickHouse
// answers the rows of progress, which were announced before, with what nothing names.
func (d *sickDatabase) deaf() func() eye {
	named, announced := []byte("COMMIT\x00"), []byte("INSERT INTO progresso_passos")
	oneIn := d.dice()
	drop := func(chunk []byte) int {
		if oneIn(3) {
			return len(chunk)
		}
		d.met.Add(1)
		return 0
	}
	if d.run.x.Database == sqlserver.Postgres {
		return func() eye {
			return func(toServer bool, chunk []byte) int {
				if toServer || !bytes.Contains(chunk, named) {
					return len(chunk)
				}
				return drop(chunk)
			}
		}
	}
	return func() eye {
		asked := 0 // 1 = the rows were announced, 2 = the server told their columns, 3 = they are sent
		return func(toServer bool, chunk []byte) int {
			switch {
			case toServer && bytes.Contains(chunk, announced):
				asked = 1
			case !toServer && asked == 1, toServer && asked == 2:
				asked++
			case !toServer && asked == 3:
				asked = 0
				return drop(chunk)
			}
			return len(chunk)
		}
	}
}

var errNoDatabase = errors.New("a fault of the database needs an ordeal with tables on a server: postgres or clickhouse")
