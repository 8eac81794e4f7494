package node

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

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

// setAside moves folders, those that are there, into the folder aside of one: what comes next can be
// made where they were at once, and to remove gigabytes takes its time.
func setAside(in string, dirs ...string) (failed error) {
	for _, dir := range dirs {
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		aside := filepath.Join(in, asideFolder)
		err := os.MkdirAll(aside, 0o755)
		if err == nil {
			aside, err = os.MkdirTemp(aside, "") // one of this name may lie there still
		}
		if err == nil {
			err = os.Rename(dir, filepath.Join(aside, filepath.Base(dir)))
		}
		failed = errors.Join(failed, err)
	}
	return failed
}

// removeAside is called when nobody waits for it.
func removeAside(in string) error { return os.RemoveAll(filepath.Join(in, asideFolder)) }
