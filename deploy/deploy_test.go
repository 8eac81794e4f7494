// Package deploy_test checks what a team starts from: that a node takes every configuration,
// that no variable, metric or label is named that does not exist, and that the topics made by
// topics.sh are those that a node accepts. Start at config_test.go.
package deploy_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// files are the texts of this folder and of its guide by path; this package's own not.
func files(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{"../docs/deploy.md": read(t, "../docs/deploy.md")}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.HasSuffix(path, ".go") {
			all[path] = read(t, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func readYAML(t *testing.T, path string, v any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(read(t, path)), v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}
