package chaos

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"taximeter/cmd/internal/chaos/inject"
	"taximeter/schemas"
	"taximeter/schemas/avro"
	"taximeter/schemas/edge"
)

// Fault is what goes wrong in an ordeal.
type Fault string

const (
	StoreDown     Fault = "store-down"     // the checkpoint store answers nothing
	StoreSlow     Fault = "store-slow"     // each write takes two seconds, one call in a hundred fails
	RegistryDown  Fault = "registry-down"  // the schema registry answers nothing, and producers of partition 0 use a new schema
	OutputBlocked Fault = "output-blocked" // the broker takes nothing from the node
	DiskFull      Fault = "disk-full"      // no byte is left where the local state is; needs root, for a file system of its own
	ClockAhead    Fault = "clock-ahead"    // the machine's clock is set forward by hours, and stays so
	ClockBack     Fault = "clock-back"     // the same backward
	TakenBack     Fault = "taken-back"     // an operator restores the fourth checkpoint before the newest
	PassedBy      Fault = "passed-by"      // retention takes records before they are read, and an operator accepts the gap
	Cramped       Fault = "cramped"        // the node has less memory than it needs, from its start on
	SinksDown     Fault = "sinks-down"     // the lake's warehouse is away and the analytical database takes nothing
	NoFault       Fault = "none"           // to compare with
)

// Faults are all of them.
func Faults() []Fault {
	return append([]Fault{StoreDown, StoreSlow, RegistryDown, OutputBlocked, DiskFull, ClockAhead, ClockBack, TakenBack, PassedBy, Cramped, SinksDown, NoFault}, databaseFaults...)
}

// trouble makes a fault.
type trouble interface {
	// arm prepares the node's life.
	arm(plan *inject.Plan, environment map[string]string) error
	begin(ctx context.Context) error
	end(ctx context.Context) error
	close() error
	// holds reports whether the fault may hold up a partition's alerts.
	holds(schemas.Partition) bool
}

func newTrouble(r *ordealRun) (trouble, error) {
	quiet := quiet{}
	switch r.x.Fault {
	case StoreDown:
		return &darkStore{quiet, r}, nil
	case StoreSlow:
		return &slowStore{quiet, r}, nil
	case RegistryDown:
		t := &darkRegistry{quiet: quiet, run: r}
		r.change = t.change
		return t, nil
	case OutputBlocked:
		return &blockedOutput{quiet, r}, nil
	case DiskFull:
		return &fullDisk{quiet: quiet, run: r}, nil
	case ClockAhead:
		return &setClock{quiet, r, 3 * time.Hour}, nil
	case ClockBack:
		return &setClock{quiet, r, -3 * time.Hour}, nil
	case TakenBack:
		return &takesBack{operator{run: r}}, nil
	case PassedBy:
		return &passedBy{operator{run: r}}, nil
	case Cramped:
		return cramped{}, nil
	case SinksDown:
		if !r.x.Tables || r.x.Database != "" {
			return nil, errors.New("no sinks can be down in an ordeal without tables, or with a server's")
		}
		return &downSinks{quiet: quiet, run: r}, nil
	case DatabaseDown, DatabaseCut, DatabaseDeaf, DatabaseKilled:
		if !r.x.Tables || r.x.Database == "" {
			return nil, errNoDatabase
		}
		return &sickDatabase{run: r}, nil
	case NoFault:
		return quiet, nil
	}
	return nil, fmt.Errorf("fault %q is none of %v", r.x.Fault, Faults())
}

// quiet does nothing.
type quiet struct{}

func (quiet) arm(*inject.Plan, map[string]string) error { return nil }
func (quiet) begin(context.Context) error               { return nil }
func (quiet) end(context.Context) error                 { return nil }
func (quiet) close() error                              { return nil }
func (quiet) holds(schemas.Partition) bool              { return false }

// cramped is a node whose heap has a bound that it cannot keep to.
type cramped struct{ quiet }

// crampedMB is less than what lives in a node that has just started.
const crampedMB = 2

func (cramped) arm(plan *inject.Plan, _ map[string]string) error {
	plan.MemoryMB = crampedMB
	return nil
}

// darkStore is a store that answers nothing: S3 behind the proxy, a folder by the node's plan.
type darkStore struct {
	quiet
	run *ordealRun
}

func (d *darkStore) file() string { return filepath.Join(d.run.dir, "dark") }

func (d *darkStore) arm(plan *inject.Plan, _ map[string]string) error {
	plan.Dark = d.file()
	return nil
}

func (d *darkStore) begin(context.Context) error {
	if d.run.objects != nil {
		d.run.objects.darken(true)
		return nil
	}
	return os.WriteFile(d.file(), nil, 0o600)
}

func (d *darkStore) end(context.Context) error {
	if d.run.objects != nil {
		d.run.objects.darken(false)
		return nil
	}
	return os.Remove(d.file())
}

// slowStore is a store whose writes take long.
type slowStore struct {
	quiet
	run *ordealRun
}

func (d *slowStore) file() string { return filepath.Join(d.run.dir, "slow") }

func (d *slowStore) arm(plan *inject.Plan, _ map[string]string) error {
	plan.Slow = d.file()
	return nil
}

func (d *slowStore) begin(context.Context) error { return os.WriteFile(d.file(), nil, 0o600) }
func (d *slowStore) end(context.Context) error   { return os.Remove(d.file()) }

// darkRegistry is a registry that answers nothing while the producers of partition 0 begin
// to use a newer version of every contract, which the node has not met.
type darkRegistry struct {
	quiet
	run   *ordealRun
	relay *relay
	newer atomic.Pointer[[schemas.NumInputs]int] // ids of the newer versions; nil = not in use
}

func (d *darkRegistry) arm(_ *inject.Plan, environment map[string]string) (err error) {
	d.relay, err = newRelay("127.0.0.1", strings.TrimPrefix(d.run.world.RegistryURL(), "http://"))
	if err == nil {
		environment["REGISTRY_URL"] = "http://" + d.relay.address
	}
	return err
}

func (d *darkRegistry) begin(ctx context.Context) error {
	d.relay.darken(true)
	var ids [schemas.NumInputs]int
	for _, topic := range schemas.Inputs {
		contract, _ := avro.Of(topic.String())
		end := strings.LastIndex(contract.Schema, "]")
		text := contract.Schema[:end] + `,{"name":"versaoDoAplicativo","type":["null","string"],"default":null,"doc":"Version of the app that sent it."}` + contract.Schema[end:]
		id, err := d.run.world.Registry().Register(ctx, contract.Subject(), text)
		if err != nil {
			return err
		}
		ids[topic] = id
	}
	d.newer.Store(&ids)
	return nil
}

// change writes a record as the newer version has it: with one field more, which is null.
func (d *darkRegistry) change(l *edge.Line, r *kgo.Record) {
	ids := d.newer.Load()
	if ids == nil || l.Raw != nil || len(r.Value) < 5 || r.Value[0] != 0 || !d.holds(schemas.PartitionOf(l.RecordKey(), ordealPartitions)) {
		return
	}
	binary.BigEndian.PutUint32(r.Value[1:], uint32(ids[l.Topic]))
	r.Value = append(r.Value, 0)
}

func (d *darkRegistry) end(context.Context) error {
	d.relay.darken(false)
	return nil
}

func (d *darkRegistry) close() error {
	if d.relay == nil {
		return nil
	}
	return d.relay.close()
}

func (*darkRegistry) holds(p schemas.Partition) bool { return p == 0 }

// blockedOutput is a broker that lets the node read and not write.
type blockedOutput struct {
	quiet
	run *ordealRun
}

func (b *blockedOutput) begin(context.Context) error {
	b.run.wire.refuse(kmsg.Produce, kmsg.InitProducerID, kmsg.AddPartitionsToTxn, kmsg.EndTxn)
	return nil
}

func (b *blockedOutput) end(context.Context) error {
	b.run.wire.refuse()
	return nil
}

func (*blockedOutput) holds(schemas.Partition) bool { return true }

// fullDisk is a small file system for the local state, with a file that fills it.
type fullDisk struct {
	quiet
	run     *ordealRun
	mounted string
}

// ErrNeedsRoot is an ordeal that only root can make.
var ErrNeedsRoot = errors.New("a small file system can be mounted by root only")

const diskBytes = 32 << 20

func (d *fullDisk) arm(_ *inject.Plan, environment map[string]string) error {
	dir := filepath.Join(d.run.dir, "disk")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	if err := mountMemory(dir, diskBytes); err != nil {
		return fmt.Errorf("%w: %w", ErrNeedsRoot, err)
	}
	d.mounted = dir
	environment["DATA"] = filepath.Join(dir, "state")
	return nil
}

func (d *fullDisk) ballast() string { return filepath.Join(d.mounted, "ballast") }

// begin fills the disk to the last byte.
func (d *fullDisk) begin(context.Context) (err error) {
	f, err := os.Create(d.ballast())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	for piece := make([]byte, 1<<20); len(piece) > 0; {
		if _, err := f.Write(piece); errors.Is(err, syscall.ENOSPC) {
			piece = piece[:len(piece)/2]
		} else if err != nil {
			return err
		}
	}
	return nil
}

func (d *fullDisk) end(context.Context) error { return os.Remove(d.ballast()) }

func (d *fullDisk) close() error {
	if d.mounted == "" {
		return nil
	}
	return unmount(d.mounted)
}

// setClock is an operator or a time server that sets the machine's clock, at an instant at
// which no events come: a node that took the time for passed would call its topics silent.
type setClock struct {
	quiet
	run *ordealRun
	by  time.Duration
}

func (s *setClock) file() string { return filepath.Join(s.run.dir, "clock") }

func (s *setClock) arm(plan *inject.Plan, _ map[string]string) error {
	plan.Clock = s.file()
	return nil
}

func (s *setClock) begin(ctx context.Context) error {
	s.run.held.Store(true)
	defer s.run.held.Store(false)
	if err := s.run.readAll(ctx); err != nil {
		return err
	}
	if err := os.WriteFile(s.file(), []byte(s.by.String()), 0o600); err != nil {
		return err
	}
	const aWhile = 4 * time.Second // long enough to be noticed, shorter than what makes a topic idle
	pause(ctx, aWhile)
	return nil
}
