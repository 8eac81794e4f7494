// Command ordealcmd lets a node live through one long fault; see chaos.Ordeal. `make ordeal`
// builds what it needs. It closes with one JSON line on standard output, and with exit
// status 1 unless every result is right and every alert came within ten seconds.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"time"

	"taximeter/cmd/internal/chaos"
	"taximeter/internal/program"
	"taximeter/internal/sqlserver"
)

func main() { program.Main("ordeal", run) }

// slowestAlert is the contract's bound.
const slowestAlert = 10 * time.Second

func run(ctx context.Context) (err error) {
	binary := flag.String("taximeter", "", "a taximeter built with the tag chaos")
	fault := flag.String("fault", string(chaos.StoreDown), fmt.Sprintf("one of %v", chaos.Faults()))
	x := chaos.DrawOrdeal(1, "", 0)
	flag.Uint64Var(&x.Seed, "seed", 1, "seed of the events")
	flag.DurationVar(&x.For, "for", 10*time.Minute, "how long the fault lasts")
	flag.DurationVar(&x.Checkpoint, "checkpoint", 30*time.Second, "interval between checkpoints")
	flag.IntVar(&x.Rate, "rate", x.Rate, "events per second")
	flag.IntVar(&x.Resident, "resident", x.Resident, "trips of a partition that may stay in memory")
	flag.BoolVar(&x.Tables, "tables", false, "keep a lake and analytical tables")
	database := flag.String("database", "", "with --tables: a server of the analytical tables, postgres or clickhouse, instead of SQLite; it is started")
	flag.IntVar(&x.Kills, "kills", 0, "how often the node is killed meanwhile")
	readers := flag.String("readers", "", "a Python that can check them; .ci/readers/install prints where it is")
	real := flag.Bool("real", false, "on real Kafka and S3, under .ci/with-servers")
	flag.Parse()
	if *binary == "" {
		return errors.New("--taximeter must name a taximeter built with `go build -tags chaos ./cmd/taximeter`")
	}
	if x.Tables && *readers == "" {
		return errors.New("--tables needs --readers, which check them")
	}
	x.Fault, x.Database = chaos.Fault(*fault), sqlserver.Kind(*database)
	o := chaos.Options{Binary: *binary, Readers: *readers, Log: slog.Default()}
	if *real {
		if o.Real, err = chaos.RealFromEnvironment(); err != nil {
			return err
		}
	}
	if o.Dir, err = os.MkdirTemp("", "taximeter-ordeal-"); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, x)
	e := chaos.Endure(ctx, o, x)
	for _, f := range e.Findings {
		fmt.Fprintln(os.Stderr, "  "+f)
	}
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	slowest := chaos.Percentile(e.Alerts, 100)
	err = json.NewEncoder(os.Stdout).Encode(map[string]any{"fault": x.Fault, "seconds": x.For.Seconds(), "checkpoints": e.Checkpoints,
		"alerts": len(e.Alerts), "alerts_p99_ms": ms(chaos.Percentile(e.Alerts, 99)), "alerts_max_ms": ms(slowest), "bills": e.Bills, "tables_behind": e.Behind, "harm": e.Met, "trips_in_memory": e.Resident,
		"rss_before_mb": e.MemoryBefore >> 20, "rss_mb": e.Memory >> 20, "rss_after_mb": e.MemoryAfter >> 20, "recovered_ms": ms(e.Recovered),
		"duplicated": e.Duplicated, "missing": e.Missing, "differing": e.Differing})
	switch {
	case err != nil:
		return err
	case !e.OK():
		return fmt.Errorf("results are wrong; files of the run are in %s", o.Dir)
	case slowest >= slowestAlert && x.Fault != chaos.OutputBlocked:
		return fmt.Errorf("an alert took %s", slowest)
	}
	return os.RemoveAll(o.Dir)
}
