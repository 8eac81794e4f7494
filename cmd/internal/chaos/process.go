package chaos

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"taximeter/cluster/admin"
	"taximeter/cmd/internal/chaos/inject"
	"taximeter/internal/leash"
)

// process is a node in a process of its own.
type process struct {
	cmd    *exec.Cmd
	number int           // in its run
	hear   func(string)  // is given each line that it says; nil = nobody
	up     chan struct{} // closed when it says that it is up
	over   chan struct{} // closed when it is gone

	// Valid once over is closed.
	err        error
	partitions []admin.PartitionStatus // of a replay that ended well

	mu   sync.Mutex // guards said
	said bytes.Buffer
}

// spawn starts `taximeter node`.
func spawn(binary string, number int, replay bool, plan inject.Plan, environment map[string]string) (*process, error) {
	args := []string{"node", "--json", "--append-times", "records"}
	if replay {
		args = append(args, "--replay")
	}
	p := &process{cmd: exec.Command(binary, args...), number: number, up: make(chan struct{}), over: make(chan struct{})}
	if err := p.start(replay, plan, environment); err != nil {
		return nil, err
	}
	return p, nil
}

// start lets the process run its command.
func (p *process) start(replay bool, plan inject.Plan, environment map[string]string) error {
	p.cmd.Env = append(environ(environment), inject.Variable+"="+plan.String())
	var answer bytes.Buffer
	p.cmd.Stdout = &answer
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		return err
	}
	leash.Tie(p.cmd)
	if err := p.cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", p.cmd.Path, err)
	}
	go func() {
		p.listen(stderr)
		p.err = p.cmd.Wait()
		if p.err == nil && replay {
			p.err = json.Unmarshal(answer.Bytes(), &p.partitions)
		}
		close(p.over)
	}()
	return nil
}

// environ is this process's environment with a configuration in place of its own.
func environ(configuration map[string]string) (all []string) {
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "TAXIMETER_") {
			all = append(all, v)
		}
	}
	for name, value := range configuration {
		all = append(all, "TAXIMETER_"+name+"="+value)
	}
	return all
}

// listen keeps what the process says, and notes when it is up.
func (p *process) listen(stderr io.Reader) {
	lines := bufio.NewScanner(stderr)
	lines.Buffer(nil, 1<<20)
	for up := p.up; lines.Scan(); {
		if up != nil && strings.Contains(lines.Text(), " is up after ") {
			close(up)
			up = nil
		}
		if p.hear != nil {
			p.hear(lines.Text())
		}
		p.mu.Lock()
		p.said.Write(lines.Bytes())
		p.said.WriteByte('\n')
		p.mu.Unlock()
	}
	_, _ = io.Copy(io.Discard, stderr) // a line too long ends the scanner, not the process
}

func (p *process) words() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said.String()
}

// signal sends a signal; a process that is gone already is no error.
func (p *process) signal(s syscall.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// kill ends it as a crash does, and waits until it is gone.
func (p *process) kill() error {
	err := p.signal(syscall.SIGKILL)
	<-p.over
	return err
}

// explain makes a process that is stuck say where all its goroutines are, and ends it.
func (p *process) explain(stuck error) error {
	const enough = 5 * time.Second
	_ = p.signal(syscall.SIGCONT)
	if err := p.signal(syscall.SIGQUIT); err != nil {
		return errors.Join(stuck, err)
	}
	select {
	case <-p.over:
	case <-time.After(enough):
	}
	return fmt.Errorf("%w; its goroutines are in process-%d.log", stuck, p.number)
}

// errStuck is a process that did not do in time what it must.
var errStuck = errors.New("stuck")

// await waits until the process is up, or gone.
func (p *process) await(ctx context.Context, patience time.Duration) error {
	return p.wait(ctx, p.up, patience, "did not come up")
}

// end waits until the process is gone.
func (p *process) end(ctx context.Context, patience time.Duration) error {
	return p.wait(ctx, nil, patience, "did not end")
}

func (p *process) wait(ctx context.Context, event <-chan struct{}, patience time.Duration, otherwise string) error {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-event:
		return nil
	case <-p.over:
		return nil
	case <-timer.C:
		return fmt.Errorf("%w: the node %s within %s", errStuck, otherwise, patience)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *process) gone() bool {
	select {
	case <-p.over:
		return true
	default:
		return false
	}
}
