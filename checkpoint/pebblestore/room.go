package pebblestore

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// room makes writers wait while the disk is full. Else a table that cannot be written would
// be tried again without end, and a manifest that cannot be written would end the process.
// Whoever waits holds up seals, and with them bills, but no events and no alerts.
type room struct {
	fs  vfs.FS // the disk itself
	log *slog.Logger
	dir atomic.Pointer[string] // any folder on the disk; nil = no store was opened yet

	given   context.Context // ends when waiting is given up
	givenUp context.CancelFunc
}

const (
	// roomNeeded ends the wait: some seals of a busy partition.
	roomNeeded = 8 << 20
	roomEvery  = 200 * time.Millisecond
)

func newRoom(fs vfs.FS, log *slog.Logger) *room {
	r := &room{fs: fs, log: log}
	r.given, r.givenUp = context.WithCancel(context.Background())
	return r
}

// wait returns when there is room again. The write that met the full disk is then done once
// more. It runs while all other writes wait.
func (r *room) wait() {
	dir := r.dir.Load()
	if dir == nil || r.given.Err() != nil {
		return
	}
	r.log.Error("no space left in the data folder; checkpoints and bills wait until there is, alerts go on", "dir", *dir, "needed", roomNeeded)
	began := time.Now()
	tick := time.NewTicker(roomEvery)
	defer tick.Stop()
	for {
		usage, err := r.fs.GetDiskUsage(*dir)
		if err != nil {
			r.log.Error("the data folder does not tell how much space is left", "dir", *dir, "err", err)
			return
		}
		if usage.AvailBytes >= roomNeeded {
			r.log.Info("there is space in the data folder again", "after", time.Since(began))
			return
		}
		select {
		case <-tick.C:
		case <-r.given.Done():
			return
		}
	}
}
