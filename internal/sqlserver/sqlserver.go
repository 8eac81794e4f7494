// Package sqlserver runs PostgreSQL and ClickHouse themselves, as the system's packages bring
// them, for harnesses and benchmarks: one server in a folder and processes of its own, on
// 127.0.0.1, that can be killed and comes back with what it had. On Linux it never outlives us.
//
// It must never be part of what ships, nor speak SQL: the databases begin empty.
//
// Start reading at Server, then postgres.go and clickhouse.go.
package sqlserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"taximeter/internal/kafkaserver"
	"taximeter/internal/leash"
)

// Kind is the program.
type Kind string

const (
	Postgres   Kind = "postgres"
	ClickHouse Kind = "clickhouse"
)

// Server is one server. Its methods are for one goroutine.
type Server struct {
	Kind    Kind
	Address string // where clients of its own protocol connect
	HTTP    string // host:port of ClickHouse's other protocol

	dir    string
	cmd    *exec.Cmd     // nil = it does not run
	exited chan struct{} // closed when it is gone
}

// program is what a kind of server needs.
type program interface {
	// prepare makes what must be there before the first start.
	prepare(ctx context.Context, s *Server) error
	command(s *Server) (*exec.Cmd, error)
	url(address string) string
}

var programs = map[Kind]program{Postgres: postgres{}, ClickHouse: clickhouse{}}

// patience bounds how long a server may take to listen.
const patience = time.Minute

// New makes a server's folder and chooses its ports. It does not start it.
func New(ctx context.Context, kind Kind) (*Server, error) {
	p, ok := programs[kind]
	if !ok {
		return nil, fmt.Errorf("no server of databases is called %q: use %s or %s", kind, Postgres, ClickHouse)
	}
	// Among the system's temporary files, because another user than ours may have to reach it.
	dir, err := os.MkdirTemp("", "taximeter-"+string(kind)+"-")
	if err != nil {
		return nil, err
	}
	s := &Server{Kind: kind, dir: dir}
	ports, err := kafkaserver.Addresses(2)
	if err == nil {
		s.Address, s.HTTP = ports[0], ports[1]
		err = p.prepare(ctx, s)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("prepare %s: %w", kind, err), s.Close())
	}
	return s, nil
}

// Start lets it run, and waits until it listens. After a Kill it recovers first, and what was
// its may still be in use for a moment: then it is tried again.
func (s *Server) Start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if s.cmd == nil {
			if err := s.begin(); err != nil {
				return err
			}
		}
		select {
		case <-s.exited:
			s.cmd = nil
		case <-tick.C:
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("%s does not listen at %s: %w; it said:\n%s", s.Kind, s.Address, ctx.Err(), s.said()), s.Kill())
		}
		if s.cmd != nil && listens(s.Address) {
			return nil
		}
	}
}

func (s *Server) begin() (err error) {
	cmd, err := programs[s.Kind].command(s)
	if err != nil {
		return err
	}
	log, err := os.OpenFile(s.file("log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }() // the process has its own
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", log, log
	leash.Tie(cmd)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", s.Kind, err)
	}
	exited := make(chan struct{})
	go func() { _ = cmd.Wait(); close(exited) }() // how it ended is in its log
	s.cmd, s.exited = cmd, exited
	return nil
}

// Kill ends it as a crash does (SIGKILL). Processes that it had started hold its port until they
// notice: they are waited for, or the next Start would take them for the server.
func (s *Server) Kill() error {
	if s.cmd == nil {
		return nil
	}
	err := s.cmd.Process.Signal(syscall.SIGKILL)
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	<-s.exited
	s.cmd = nil
	if err == nil && !within(patience, func() bool { return !listens(s.Address) }) {
		err = fmt.Errorf("%s was killed and something still listens at %s", s.Kind, s.Address)
	}
	return err
}

// Close ends it and removes its files.
func (s *Server) Close() error {
	err := s.Kill()
	// Processes that it had started may still be about to end, and make files.
	if within(time.Second, func() bool { return os.RemoveAll(s.dir) == nil }) {
		return err
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}

// within reports whether something came to be in that time.
func within(patience time.Duration, is func() bool) bool {
	const every = 20 * time.Millisecond
	for end := time.Now().Add(patience); !is(); <-time.After(every) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

func (s *Server) file(name string) string { return filepath.Join(s.dir, name) }

// said is the end of what it wrote to its log.
func (s *Server) said() string {
	const most = 2000
	text, err := os.ReadFile(s.file("log"))
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-most):])
}

func listens(address string) bool {
	c, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return false
	}
	_ = c.Close() // nothing was said
	return true
}

// URL is the server's database as analytics.url has it, by way of an address.
func (s *Server) URL(address string) string { return programs[s.Kind].url(address) }
