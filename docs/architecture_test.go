package docs

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var quoted = regexp.MustCompile("`([^`]+)`")

// Every folder of a package is in ARCHITECTURE's file map, and nothing else is. Of a row that
// names several, the later ones may lie in the first one's parent and leave it out.
func TestTheFileMapHasEveryPackage(t *testing.T) {
	text, err := os.ReadFile("../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "\n## File map\n")
	table, _, end := strings.Cut(rest, "\n## ")
	if !ok || !end {
		t.Fatal("no section of the name File map, or none after it")
	}
	var mapped []string
	for row := range strings.Lines(table) {
		if !strings.HasPrefix(row, "| `") {
			continue
		}
		first := ""
		for _, name := range quoted.FindAllStringSubmatch(strings.Split(row, "|")[1], -1) {
			dir := name[1]
			if first == "" {
				first = dir
			} else if _, err := os.Stat(filepath.Join("..", dir)); err != nil {
				dir = path.Join(path.Dir(first), dir)
			}
			if _, err := os.Stat(filepath.Join("..", dir)); err != nil {
				t.Errorf("the map's %s: %v", name[1], err)
			}
			mapped = append(mapped, dir)
		}
	}
	err = filepath.WalkDir("..", func(file string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || file == ".." {
			return err
		}
		if strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" {
			return filepath.SkipDir
		}
		sources, err := filepath.Glob(filepath.Join(file, "*.go"))
		sources = slices.DeleteFunc(sources, func(s string) bool { return strings.HasSuffix(s, "_test.go") })
		rel, relErr := filepath.Rel("..", file)
		if dir := filepath.ToSlash(rel); len(sources) > 0 && !slices.Contains(mapped, dir) {
			t.Errorf("package %s is not in ARCHITECTURE.md's file map", dir)
		}
		return errors.Join(err, relErr)
	})
	if err != nil || len(mapped) < 50 {
		t.Fatalf("%d folders mapped: %v", len(mapped), err)
	}
}
