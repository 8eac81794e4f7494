package rig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// Process is a child in its role.
type Process struct {
	role  Role
	cmd   *exec.Cmd
	stdin io.WriteCloser
	said  *json.Decoder
}

// Spawn starts this program again in a role. Its standard error is ours.
func Spawn(ctx context.Context, role Role, settings any) (*Process, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(settings)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, exe, roleFlag, string(role), string(text))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the %s: %w", role, err)
	}
	return &Process{role: role, cmd: cmd, stdin: stdin, said: json.NewDecoder(stdout)}, nil
}

// Hear waits for what the child says next.
func (p *Process) Hear(into any) error {
	if err := p.said.Decode(into); err != nil {
		return errors.Join(fmt.Errorf("the %s did not answer: %w", p.role, err), p.Stop())
	}
	return nil
}

// Tell says something to a child that listens.
func (p *Process) Tell(what any) error {
	if err := json.NewEncoder(p.stdin).Encode(what); err != nil {
		return fmt.Errorf("tell the %s: %w", p.role, err)
	}
	return nil
}

// Dismiss closes the child's standard input: it ends its work, and may have more to say.
func (p *Process) Dismiss() error { return p.stdin.Close() }

// Stop dismisses the child, if it was not, and waits for its end.
func (p *Process) Stop() error {
	err := p.stdin.Close()
	if errors.Is(err, os.ErrClosed) {
		err = nil
	}
	if ended := p.cmd.Wait(); ended != nil {
		err = errors.Join(err, fmt.Errorf("the %s: %w", p.role, ended))
	}
	return err
}

// CPU is what the child has used so far; see CPUOf.
func (p *Process) CPU() (time.Duration, error) { return CPUOf(p.cmd.Process.Pid) }
