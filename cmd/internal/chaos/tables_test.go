package chaos

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"

	"taximeter/cmd/internal/published"
)

// Readers that cannot run have not found the tables right, nor wrong.
func TestReadersThatFailAreNoFinding(t *testing.T) {
	for name, c := range map[string]struct {
		says   string // and how it ends
		failed string // "" = does not
		found  int
	}{
		"all is right":             {"echo fine", "", 0},
		"a difference":             {"echo '  faturas: row'; exit 3", "", 1},
		"they do not say in what":  {"exit 3", "do not say in what", 0},
		"a reader is not there":    {"printf 'Traceback:\\n  File check.py, line 7\\nModuleNotFoundError: pyiceberg\\n' >&2; exit 1", "ModuleNotFoundError: pyiceberg", 0},
		"it ends without a reason": {"exit 1", "run the readers", 0},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			reader := filepath.Join(dir, "python")
			if err := os.WriteFile(reader, []byte("#!/bin/sh\n"+c.says+"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
			r := &run{dir: dir, o: Options{Readers: reader}, material: &material{}}
			var res Result
			err := r.checkTables(t.Context(), &published.Results{}, kadm.ListedOffsets{}, &res)
			if (err != nil) != (c.failed != "") || err != nil && !strings.Contains(err.Error(), c.failed) || res.Differing != c.found {
				t.Errorf("%v; found %q", err, res.Findings)
			}
		})
	}
}
