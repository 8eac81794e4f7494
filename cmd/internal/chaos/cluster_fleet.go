package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"taximeter/cluster/admin"
	"taximeter/cmd/internal/chaos/inject"
)

// fleet is the nodes of a run.
type fleet struct {
	o        Options
	dir      string
	settings map[string]string // of all nodes
	broker   string
	registry *relay
	lan      *lan
	nodes    []*member
	roster   atomic.Pointer[[]*member] // nodes, for those who only look
	starts   int
	patience time.Duration // until the cluster must be whole again
	client   http.Client

	mu    sync.Mutex // guards moves: processes speak at any time
	moves moves
}

// member is one node: a name and an address, and from time to time a process.
type member struct {
	index   int
	id      string
	ip      string
	gossip  string
	admin   string
	remote  string
	wire    *wire    // before the broker
	objects *objects // before S3; nil with a folder
	dark    string   // path of the file that darkens a folder
	weight  int      // 0 = as the others
	zone    string
	old     bool // runs the version before: Options.From, or held at its protocol
	process *process
	away    atomic.Bool // frozen or cut off: it is not asked, and not expected
}

func (m *member) up() bool { return m.process != nil && !m.process.gone() && !m.away.Load() }

// add makes room for one node more.
func (f *fleet) add(seed uint64) (*member, error) {
	i := len(f.nodes)
	m := &member{index: i, id: "node-" + strconv.Itoa(i+1), dark: filepath.Join(f.dir, "dark-"+strconv.Itoa(i+1))}
	var err error
	if m.ip, err = f.lan.add(i); err != nil {
		return nil, err
	}
	for addr, port := range map[*string]string{&m.gossip: "7946", &m.admin: "8080", &m.remote: "7947"} {
		if f.lan.loopback() {
			if port, err = freePort(m.ip); err != nil {
				return nil, err
			}
		}
		*addr = net.JoinHostPort(m.ip, port)
	}
	if m.wire, err = newWireAt(f.lan.gateway(), seed+uint64(i)); err != nil {
		return nil, err
	}
	m.wire.aim(f.broker)
	if f.o.Real != nil {
		if m.objects, err = newObjectsAt(f.lan.gateway(), f.o.Real.S3Endpoint, seed+uint64(i)); err != nil {
			return nil, err
		}
	}
	at := m.wire.listener.Addr().(*net.TCPAddr)
	m.wire.renaming(through(at.IP.String(), int32(at.Port)))
	f.nodes = append(f.nodes, m)
	roster := slices.Clone(f.nodes)
	f.roster.Store(&roster)
	return m, nil
}

// life is how a process begins.
type life struct {
	replay, bootstrap bool
	plan              inject.Plan
}

// start begins a life of a node and does not wait for it.
func (f *fleet) start(m *member, l life) error {
	f.starts++
	args := []string{"node", "--json", "--verbose", "--append-times", "records"}
	if l.replay {
		args = append(args, "--replay")
	}
	var seeds []string
	for _, o := range f.nodes {
		seeds = append(seeds, o.gossip)
	}
	env := maps.Clone(f.settings)
	maps.Copy(env, map[string]string{
		"NODE_ID":           m.id,
		"DATA":              filepath.Join(f.dir, m.id),
		"KAFKA_BROKERS":     m.wire.address(),
		"REGISTRY_URL":      "http://" + f.registry.address,
		"ADMIN_LISTEN":      m.admin,
		"CLUSTER_LISTEN":    m.gossip,
		"CLUSTER_REMOTE":    m.remote,
		"CLUSTER_SEEDS":     strings.Join(seeds, ","),
		"CLUSTER_BOOTSTRAP": strconv.FormatBool(l.bootstrap),
	})
	if m.objects != nil {
		for _, name := range []string{"STORE_S3_ENDPOINT", "LAKE_WAREHOUSE_S3_ENDPOINT"} {
			if env[name] != "" {
				env[name] = m.objects.address()
			}
		}
	}
	if m.weight > 0 {
		env["CLUSTER_WEIGHT"] = strconv.Itoa(m.weight)
	}
	if m.zone != "" {
		env["CLUSTER_ZONE"] = m.zone
	}
	binary := f.o.Binary
	if m.old && f.o.From != "" {
		binary = f.o.From
	} else if m.old {
		env["CLUSTER_PROTOCOL"] = strconv.FormatUint(uint64(f.o.held()), 10)
	}
	m.process = &process{cmd: f.lan.command(m.index, binary, args...), number: f.starts, up: make(chan struct{}), over: make(chan struct{}),
		hear: func(line string) { f.hear(m.id, line) }}
	l.plan.Dark = m.dark
	return m.process.start(l.replay, l.plan, env)
}

// bury makes sure that the node's process is gone, and keeps what it said.
func (f *fleet) bury(m *member) error {
	if m.process == nil {
		return nil
	}
	err := m.process.kill()
	name := filepath.Join(f.dir, fmt.Sprintf("%s-%d.log", m.id, m.process.number))
	err = errors.Join(err, os.WriteFile(name, []byte(m.process.words()), 0o600))
	m.process = nil
	return err
}

// stop asks a node to go, which it must do well.
func (f *fleet) stop(ctx context.Context, m *member) error {
	p := m.process
	if err := p.signal(syscall.SIGTERM); err != nil {
		return err
	}
	err := p.end(ctx, endPatience)
	if err == nil && p.err != nil {
		err = fmt.Errorf("%s was asked to stop: %w", m.id, p.err)
	}
	return errors.Join(err, f.bury(m))
}

// darken lets the node's store answer nothing, or everything again.
func (m *member) darken(dark bool) error {
	if m.objects != nil {
		m.objects.darken(dark)
		return nil
	}
	if dark {
		return os.WriteFile(m.dark, nil, 0o600)
	}
	return os.Remove(m.dark)
}

// ask reads one of a node's answers.
func ask[T any](ctx context.Context, f *fleet, m *member, path string) (answer T, err error) {
	return get[T](ctx, &f.client, "http://"+m.admin+path)
}

// answerPatience is above what a node takes to tell where it stands without its store.
const answerPatience = 3 * time.Second

// get reads one answer.
func get[T any](ctx context.Context, client *http.Client, url string) (answer T, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerPatience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return answer, err
	}
	response, err := client.Do(request)
	if err != nil {
		return answer, err
	}
	defer response.Body.Close()
	return answer, json.NewDecoder(response.Body).Decode(&answer)
}

func (f *fleet) living() []*member {
	return slices.DeleteFunc(slices.Clone(f.nodes), func(m *member) bool { return !m.up() })
}

// whole waits until all nodes that are up agree: they alone are the members, every
// partition is where it belongs, and runs.
func (f *fleet) whole(ctx context.Context) error {
	why := ""
	err := until(ctx, f.patience, func() bool {
		why = f.fault(ctx)
		return why == ""
	})
	if err != nil {
		return fmt.Errorf("the cluster is not whole after %s: %s", f.patience, why)
	}
	return nil
}

// fault is what a whole cluster would not show; "" = it is whole.
func (f *fleet) fault(ctx context.Context) string {
	var ids []string
	living := f.living()
	for _, m := range living {
		ids = append(ids, m.id)
	}
	least, most := 1<<30, 0
	for _, m := range living {
		c, err := ask[admin.ClusterStatus](ctx, f, m, "/cluster")
		if err != nil {
			return fmt.Sprintf("%s: %s", m.id, err)
		}
		var members []string
		for _, o := range c.Members {
			if o.Member {
				members = append(members, o.ID)
			}
		}
		slices.Sort(members)
		if !slices.Equal(members, ids) {
			return fmt.Sprintf("%s has members %v, up are %v", m.id, members, ids)
		}
		owned := 0
		for _, p := range c.Partitions {
			if p.Owner == m.id {
				owned++
			}
			if p.Owner == "" || p.Target != "" {
				return fmt.Sprintf("%s says that partition %d belongs to %q and goes to %q", m.id, p.Partition, p.Owner, p.Target)
			}
		}
		least, most = min(least, owned), max(most, owned)
		running := 0
		partitions, err := ask[[]admin.PartitionStatus](ctx, f, m, "/partitions")
		if err != nil {
			return fmt.Sprintf("%s: %s", m.id, err)
		}
		for _, p := range partitions {
			if p.State == "running" {
				running++
			}
		}
		if running != owned {
			return fmt.Sprintf("%s owns %d partitions and runs %d", m.id, owned, running)
		}
	}
	if most-least > 1 && !f.weighted() {
		return fmt.Sprintf("the fullest node owns %d partitions, the emptiest %d", most, least)
	}
	return ""
}

// weighted reports whether shares differ by weight: that every partition is where it belongs
// then says all.
func (f *fleet) weighted() bool {
	return slices.ContainsFunc(f.nodes, func(m *member) bool { return m.weight > 0 })
}

// frozen reports whether the process stands still.
func (p *process) frozen() bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	_, state, _ := strings.Cut(string(stat), ") ")
	return err == nil && strings.HasPrefix(state, "T")
}

const pollEvery = 20 * time.Millisecond

// until polls until the condition holds.
func until(ctx context.Context, patience time.Duration, holds func() bool) error {
	deadline := time.Now().Add(patience)
	for !holds() {
		if time.Now().After(deadline) {
			return errStuck
		}
		if !pause(ctx, pollEvery) {
			return ctx.Err()
		}
	}
	return nil
}

func (f *fleet) close() error {
	var errs []error
	for _, m := range f.nodes {
		if m.process != nil {
			errs = append(errs, m.process.signal(syscall.SIGCONT), f.bury(m))
		}
		errs = append(errs, m.wire.close())
		if m.objects != nil {
			errs = append(errs, m.objects.close())
		}
	}
	if f.registry != nil {
		errs = append(errs, f.registry.close())
	}
	if f.lan != nil {
		errs = append(errs, f.lan.close())
	}
	return errors.Join(errs...)
}
