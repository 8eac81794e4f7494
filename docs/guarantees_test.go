// Package docs checks what the documents say of the tree.
package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var named = regexp.MustCompile("`(Test[A-Za-z0-9]+)(?:/([^`]+))?`")

// Every test that guarantees.md names exists: a renamed one would leave a promise without
// its proof.
func TestNamedTestsExist(t *testing.T) {
	text, err := os.ReadFile("guarantees.md")
	if err != nil {
		t.Fatal(err)
	}
	tests := ""
	err = filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		tests += string(source)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	names := named.FindAllStringSubmatch(string(text), -1)
	if len(names) < 50 {
		t.Fatalf("%d names found", len(names))
	}
	for _, n := range names {
		if !strings.Contains(tests, "func "+n[1]+"(") || n[2] != "" && !strings.Contains(tests, `"`+n[2]+`"`) {
			t.Errorf("no test %s", n[0])
		}
	}
}
