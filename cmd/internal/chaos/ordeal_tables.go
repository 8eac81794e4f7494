package chaos

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"taximeter/internal/leash"
)

// downSinks is a lake whose warehouse and catalog are nowhere to be found, and an analytical
// database that takes no writes, at once.
type downSinks struct {
	quiet
	run    *ordealRun
	holder *exec.Cmd      // a process that holds the database; nil = it is free
	until  io.WriteCloser // closed, it ends
}

func (d *downSinks) away() string { return d.run.lakeDir() + ".away" }

// hold locks a database for as long as its standard input is open.
const hold = `import sqlite3, sys
db = sqlite3.connect(sys.argv[1], timeout=30, isolation_level=None)
db.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
sys.stdin.read()`

func (d *downSinks) begin(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, d.run.o.Readers, "-c", hold, d.run.analytics())
	leash.Tie(cmd)
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	d.holder, d.until = cmd, in
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		return fmt.Errorf("hold %s: %w", d.run.analytics(), err)
	}
	// A file where the folder was: nothing can be made there.
	return errors.Join(os.Rename(d.run.lakeDir(), d.away()), os.WriteFile(d.run.lakeDir(), nil, 0o600))
}

func (d *downSinks) end(context.Context) error {
	return errors.Join(d.close(), os.Remove(d.run.lakeDir()), os.Rename(d.away(), d.run.lakeDir()))
}

func (d *downSinks) close() error {
	if d.holder == nil {
		return nil
	}
	_ = d.until.Close() // it then ends
	err := d.holder.Wait()
	d.holder = nil
	return err
}
