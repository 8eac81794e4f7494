package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"taximeter/checkpoint"
	"taximeter/schemas"
)

// Folders below a partition's: of its copy, or of a run under the run's incarnation; in each
// the state.
const (
	copyFolder  = "copy"
	stateFolder = "state"
	// asideFolder, there and beside the partitions' folders, holds what nobody needs any more, until
	// it is removed. Nothing below it is read.
	asideFolder = "aside"
)

// home is the folder of all that is local of a partition.
func (n *Node) home(p schemas.Partition) string {
	return filepath.Join(n.cfg.Data, strconv.Itoa(int(p)))
}

// runsLeft are the folders of the runs of a partition.
func (n *Node) runsLeft(p schemas.Partition) []string {
	dirs, _ := filepath.Glob(filepath.Join(n.home(p), "[0-9]*")) // the pattern is well-formed
	return dirs
}

// earlier are all folders from which a new run can take something over.
func (n *Node) earlier(p schemas.Partition) []string {
	return append(n.runsLeft(p), filepath.Join(n.home(p), copyFolder))
}

// setAside takes what a run has taken over out of the way of whatever comes next: as soon as the
// run ends a new copy is made where the old one was, and to remove gigabytes takes its time.
func (n *Node) setAside(p schemas.Partition, by checkpoint.Incarnation, dirs []string) {
	aside := filepath.Join(n.home(p), asideFolder)
	err := os.MkdirAll(aside, 0o755)
	for _, dir := range dirs {
		if e := os.Rename(dir, filepath.Join(aside, fmt.Sprintf("%d-%s", by, filepath.Base(dir)))); !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	if err != nil {
		n.log.Warn("state of an earlier run stays behind until the next start", "partition", p, "err", err)
	}
}

// removeAside is called when nobody waits for it.
func (n *Node) removeAside(p schemas.Partition) {
	if err := os.RemoveAll(filepath.Join(n.home(p), asideFolder)); err != nil {
		n.log.Warn("state of an earlier run stays behind until the next start", "partition", p, "err", err)
	}
}

// abandon takes all that is local of a partition out of the way of whatever comes next.
func (n *Node) abandon(p schemas.Partition) error {
	if _, err := os.Stat(n.home(p)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	aside := filepath.Join(n.cfg.Data, asideFolder)
	if err := os.MkdirAll(aside, 0o755); err != nil {
		return err
	}
	return os.Rename(n.home(p), filepath.Join(aside, strconv.Itoa(int(p))))
}

func (n *Node) removeAbandoned() {
	if err := os.RemoveAll(filepath.Join(n.cfg.Data, asideFolder)); err != nil {
		n.log.Warn("state of partitions that are elsewhere stays behind", "err", err)
	}
}
