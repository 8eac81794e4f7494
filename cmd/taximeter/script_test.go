package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// Each script runs in an empty folder of its own. Its directives:
//
//	file name=F    writes the input to F
//	run            runs taximeter with the words of the input; shows output and exit code
//	cat name=F     shows a file
//	ls             lists all files
func TestScripts(t *testing.T) {
	scripts, err := filepath.Abs("testdata/scripts")
	if err != nil {
		t.Fatal(err)
	}
	datadriven.Walk(t, scripts, func(t *testing.T, path string) {
		t.Chdir(t.TempDir())
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var name string
			d.MaybeScanArgs(t, "name", &name)
			switch d.Cmd {
			case "file":
				if err := os.WriteFile(name, []byte(d.Input+"\n"), 0o666); err != nil {
					t.Fatal(err)
				}
				return ""
			case "run":
				return taximeter(t, strings.Fields(d.Input)...)
			case "cat":
				b, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				return string(b)
			case "ls":
				return list(t)
			}
			t.Fatalf("no directive %q", d.Cmd)
			return ""
		})
	})
}

// elapsed is what differs from run to run.
var elapsed = regexp.MustCompile(`in \d+\.\d s, [\d,]+/s|"segundos": [\d.e-]+`)

// taximeter runs the program in this process.
func taximeter(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), args, &stdout, &stderr)
	text := elapsed.ReplaceAllString(stdout.String(), "(elapsed)") + stderr.String()
	return fmt.Sprintf("%sexit %d\n", text, code)
}

func list(t *testing.T) string {
	var names []string
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(names, "\n") + "\n"
}
