package chaos

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"taximeter/cluster/admin"
	"taximeter/cmd/internal/chaos/inject"
	"taximeter/internal/sqlserver"
	"taximeter/schemas"
)

// Ordeal is one long fault that a node lives through while events come steadily.
type Ordeal struct {
	Fault      Fault
	For        time.Duration
	Rate       int           // events per second
	Checkpoint time.Duration // interval
	Resident   int           // trips of a partition that may stay in memory once they are clean
	Seed       uint64
	Tables     bool // a lake and analytical tables are kept, and checked
	// Database is the server of the analytical tables; "" = SQLite.
	Database sqlserver.Kind
	// Kills is how often the node is killed (-9) and started again during the fault.
	Kills int
}

// DrawOrdeal is an ordeal with usual settings.
func DrawOrdeal(seed uint64, fault Fault, lasting time.Duration) Ordeal {
	return Ordeal{Fault: fault, For: lasting, Rate: 150, Checkpoint: 300 * time.Millisecond, Resident: 20, Seed: seed}
}

func (x Ordeal) String() string {
	tables := ""
	if x.Tables {
		tables = ", with lake and tables"
	}
	if x.Database != "" {
		tables += " on " + string(x.Database)
	}
	if x.Kills > 0 {
		tables += fmt.Sprintf(", killed %d times", x.Kills)
	}
	return fmt.Sprintf("seed %d: %s for %s at %d events/s, checkpoint %s, %d trips in memory%s", x.Seed, x.Fault, x.For, x.Rate, x.Checkpoint, x.Resident, tables)
}

// ordealPartitions are few, so that each is always busy: one that is silent for half a
// minute follows the wall clock, and the events are of another day.
const ordealPartitions = 3

// Endured is what an ordeal showed.
type Endured struct {
	Result
	// Alerts are the times from before the deciding record was sent until the alert could be
	// read, of those sent during the fault. Alerts that time decides have no such record.
	Alerts []time.Duration
	// Checkpoints were made during the fault.
	Checkpoints int64
	// Bills could be read that were published during the fault.
	Bills int
	// Behind is how many of the newest checkpoints each sink of tables did not have at the
	// fault's end.
	Behind map[string]int64
	// Met is how often the fault did harm, where it can be counted.
	Met int64
	// Consumed are the offsets that each partition took in during the fault.
	Consumed [ordealPartitions]int64
	// Waited tells which partitions said that a topic waits.
	Waited [ordealPartitions]bool
	// Resident are the trips in memory of the fullest partition, at the best moment of the
	// fault's last seconds: what cannot leave.
	Resident int
	// MemoryBefore, Memory and MemoryAfter are bytes of the process: when the fault began, the
	// most during it, and the most from then on until it was well.
	MemoryBefore, Memory, MemoryAfter int64
	// Recovered is the time from the fault's end until all it had held up was public.
	Recovered time.Duration
	Said      string // by the node
}

// ordealRun is a run of one life with one fault.
type ordealRun struct {
	run
	x       Ordeal
	trouble trouble
	watch   *watch
	plan    inject.Plan
	env     map[string]string // of each process
	admin   string
	client  http.Client
	process *process    // nil = none runs
	said    string      // by those that are buried
	held    atomic.Bool // nothing is sent for a while
	most    int64       // bytes of the process, of those that look saw
}

// Endure lets a node live through an ordeal. A run that could not be finished counts as
// missing everything.
func Endure(ctx context.Context, o Options, x Ordeal) (res Endured) {
	dir := filepath.Join(o.Dir, fmt.Sprintf("%s-%d", x.Fault, x.Seed))
	events := int64(x.Rate) * int64((x.For + 2*x.patience()).Seconds())
	r := &ordealRun{x: x, run: run{o: o, dir: dir, s: Scenario{Seed: x.Seed, Partitions: ordealPartitions, Events: events, Checkpoint: x.Checkpoint, Resident: x.Resident, Tables: x.Tables, Database: x.Database,
		Rules: []schemas.Rule{moving}}}}
	r.watch = newWatch()
	err := r.all(ctx, &res)
	if r.trouble != nil {
		err = errors.Join(err, r.trouble.close())
	}
	if err := errors.Join(err, r.close()); err != nil {
		res.Missing++
		res.Findings = append(res.Findings, err.Error())
	}
	res.Starts = r.starts
	if res.OK() {
		if err := os.RemoveAll(dir); err != nil {
			o.Log.Warn("files of a run stay behind", "err", err)
		}
	}
	return res
}

// moving makes an alert of every car that starts to drive: enough for a percentile.
var moving = schemas.Rule{RuleID: "em-movimento", Version: 1, Kind: "velocidade", Active: true, ValidFrom: cityStart.Add(-30 * schemas.Day),
	Params: map[string]string{"limiarKmh": "20", "pontos": "1"}}

// patience bounds how long a node may take to be well: two checkpoints, one that was under
// way, and what the retries and the publishing of a busy machine take.
func (x Ordeal) patience() time.Duration { return 3*x.Checkpoint + 30*time.Second }

func (r *ordealRun) all(ctx context.Context, res *Endured) (err error) {
	if r.trouble, err = newTrouble(r); err != nil {
		return err
	}
	if err := r.prepare(ctx); err != nil {
		return err
	}
	r.feeding.sent = r.watch.sent
	watching, enough := context.WithCancel(ctx)
	watched := make(chan error, 1)
	go func() { watched <- r.watch.run(watching, r.world) }()
	err = r.live(ctx, res)
	enough()
	if err = errors.Join(err, <-watched); err != nil {
		return err
	}
	return r.conclude(ctx, &res.Result)
}

// live is the node's life, from its start until it is well again and asked to stop.
func (r *ordealRun) live(ctx context.Context, res *Endured) (err error) {
	if err := r.arm(); err != nil {
		return err
	}
	if err := r.begin(); err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, r.finish())
		res.Said = r.said
	}()
	if err := r.process.await(ctx, startPatience); err != nil {
		return err
	}
	feeding, enough := context.WithCancel(ctx)
	fed := make(chan error, 1)
	go func() { fed <- r.feed(feeding) }()
	err = r.endure(ctx, res)
	enough()
	if err = errors.Join(err, <-fed); err != nil {
		return err
	}
	if err := r.process.signal(syscall.SIGTERM); err != nil {
		return err
	}
	if err := r.process.end(ctx, endPatience); err != nil {
		return r.process.explain(err)
	}
	return r.process.err
}

// arm prepares all lives of the node.
func (r *ordealRun) arm() error {
	port, err := freePort("127.0.0.1")
	if err != nil {
		return err
	}
	r.admin = "http://127.0.0.1:" + port
	r.env, r.plan = r.environment("state"), inject.Plan{Seed: r.x.Seed}
	maps.Copy(r.env, map[string]string{"ADMIN_LISTEN": "127.0.0.1:" + port, "CHECKPOINT_RETAIN": "20"})
	return r.trouble.arm(&r.plan, r.env)
}

// begin starts the node.
func (r *ordealRun) begin() (err error) {
	r.starts++
	r.process, err = spawn(r.o.Binary, r.starts, false, r.plan, r.env)
	return err
}

// finish buries the node, if there is one, and keeps what it said.
func (r *ordealRun) finish() error {
	p := r.process
	if p == nil {
		return nil
	}
	r.process = nil
	err := r.bury(p)
	r.said += p.words()
	return err
}

// revive kills the node, starts it again and waits until it works.
func (r *ordealRun) revive(ctx context.Context) error {
	if err := r.finish(); err != nil {
		return err
	}
	if err := r.begin(); err != nil {
		return err
	}
	if err := r.process.await(ctx, startPatience); err != nil {
		return err
	}
	err := until(ctx, startPatience, func() bool { _, err := r.look(ctx); return err == nil || r.process.gone() })
	if err != nil {
		return fmt.Errorf("the node was killed and does not come back: %w", err)
	}
	return nil
}

// feed sends events at the ordeal's rate until ctx ends.
func (r *ordealRun) feed(ctx context.Context) error {
	const some = 10
	tick := time.NewTicker(time.Second * some / time.Duration(r.x.Rate))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		if r.held.Load() {
			continue
		}
		more, err := r.feeding.sendLot(context.WithoutCancel(ctx), some)
		if err != nil {
			return fmt.Errorf("send events: %w", err)
		}
		if !more {
			return errors.New("the events came to their end before the ordeal did")
		}
	}
}

const closing = 2 * time.Second

// endure waits until the node works, lets the fault happen, and waits until the node is
// well again.
func (r *ordealRun) endure(ctx context.Context, res *Endured) error {
	if _, err := r.public(ctx, 2); err != nil {
		return fmt.Errorf("before the fault: %w", err)
	}
	before, err := r.look(ctx)
	if err != nil {
		return err
	}
	res.MemoryBefore = before.memory
	if err := r.trouble.begin(ctx); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	began := time.Now()
	now := before
	res.Resident = math.MaxInt
	killed := 0
	for deadline := began.Add(r.x.For); time.Now().Before(deadline); {
		if killed < r.x.Kills && time.Since(began) > r.x.For*time.Duration(killed+1)/time.Duration(r.x.Kills+1) {
			killed++
			if err := r.revive(ctx); err != nil {
				return err
			}
		}
		if !pause(ctx, 100*time.Millisecond) {
			return ctx.Err()
		}
		if now, err = r.look(ctx); err != nil {
			return fmt.Errorf("during the fault: %w", err)
		}
		res.Memory = max(res.Memory, now.memory)
		fullest := 0
		for i, p := range now.partitions {
			fullest = max(fullest, p.Trips)
			res.Waited[i] = res.Waited[i] || strings.Join(p.Waiting[:], "") != ""
		}
		if time.Until(deadline) < closing {
			res.Resident = min(res.Resident, fullest)
		}
	}
	ended := time.Now()
	for i, p := range now.partitions {
		for t := range p.NextOffset {
			res.Consumed[i] += int64(p.NextOffset[t] - before.partitions[i].NextOffset[t])
		}
	}
	res.Checkpoints, res.Behind = now.tip-before.tip, now.behind()
	if err := r.trouble.end(ctx); err != nil {
		return fmt.Errorf("end: %w", err)
	}
	if d, ok := r.trouble.(*sickDatabase); ok {
		res.Met = d.met.Load()
	}
	r.most = 0
	well, err := r.public(ctx, now.tip+2)
	if err != nil {
		return fmt.Errorf("after the fault: %w", err)
	}
	res.Recovered, res.MemoryAfter = well.Sub(ended), r.most
	res.Alerts, res.Bills = r.watch.between(began, ended, r.trouble.holds), r.watch.billsBetween(began, ended)
	return nil
}

// readAll waits until the node has read all there is.
func (r *ordealRun) readAll(ctx context.Context) error {
	err := until(ctx, startPatience, func() bool {
		at, err := r.look(ctx)
		return err == nil && !slices.ContainsFunc(at.partitions, func(p admin.PartitionStatus) bool { return p.NextOffset != p.EndOffset })
	})
	if err != nil {
		return fmt.Errorf("the node does not come to the end of its topics: %w", err)
	}
	return nil
}
