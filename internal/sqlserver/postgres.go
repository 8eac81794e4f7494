package sqlserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"

	"taximeter/internal/leash"
)

// postgres refuses to run as root, and is then run as the user of its package.
type postgres struct{}

const postgresUser = "postgres"

// programs of PostgreSQL lie beside each other.
func (postgres) program(name string) (string, error) {
	if all, err := filepath.Glob("/usr/lib/postgresql/*/bin/" + name); err == nil && len(all) > 0 {
		return all[len(all)-1], nil
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("PostgreSQL is not installed (package postgresql): %w", err)
	}
	return path, nil
}

// as lets a command run as a user who may.
func (postgres) as(cmd *exec.Cmd) error {
	if os.Geteuid() != 0 {
		return nil
	}
	uid, gid, err := postgresIDs()
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	return err
}

func postgresIDs() (uid, gid int, err error) {
	u, err := user.Lookup(postgresUser)
	if err != nil {
		return 0, 0, err
	}
	uid, err = strconv.Atoi(u.Uid)
	if err != nil {
		return 0, 0, err
	}
	gid, err = strconv.Atoi(u.Gid)
	return uid, gid, err
}

func (p postgres) prepare(ctx context.Context, s *Server) error {
	initdb, err := p.program("initdb")
	if err != nil {
		return err
	}
	if os.Geteuid() == 0 {
		uid, gid, err := postgresIDs()
		if err := errors.Join(err, os.Chown(s.dir, uid, gid)); err != nil {
			return err
		}
	}
	cmd := exec.CommandContext(ctx, initdb, "-D", s.file("data"), "-U", postgresUser, "--auth=trust", "--no-sync")
	cmd.Dir = "/"
	if err := p.as(cmd); err != nil {
		return err
	}
	leash.Tie(cmd)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// command does without syncing files to disk: what it wrote outlives its process, not the machine.
func (p postgres) command(s *Server) (*exec.Cmd, error) {
	program, err := p.program("postgres")
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(s.Address)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program, "-D", s.file("data"), "-p", port, "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "fsync=off")
	return cmd, p.as(cmd)
}

func (postgres) url(address string) string {
	return "postgres://" + postgresUser + "@" + address + "/postgres?sslmode=disable"
}
