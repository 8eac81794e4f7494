// Package shared finds the reference cases and recordings that tests run on and that this
// repository does not hold: a folder beside it, or wherever TAXIMETER_SHARED says.
//
// Only tests may import it.
package shared

import (
	"compress/gzip"
	"encoding/csv"
	"os"
	"path/filepath"
	"testing"
)

// Path is the file of that name, such as "cases/window-cases.json".
//
// Without the folder the test is skipped, and says that the real cases were left out; when
// TAXIMETER_SHARED names the folder, a missing file fails the test.
func Path(t testing.TB, name string) string {
	t.Helper()
	folder, named := os.LookupEnv("TAXIMETER_SHARED")
	if !named || folder == "" {
		folder = filepath.Join(filepath.Dir(root(t)), "shared")
	}
	path := filepath.Join(folder, filepath.FromSlash(name))
	switch _, err := os.Stat(path); {
	case err == nil:
	case named && folder != "":
		t.Fatalf("TAXIMETER_SHARED=%s holds no %s: %v", folder, name, err)
	default:
		t.Skipf("REAL CASES LEFT OUT: no %s; put the shared folder beside the repository or name it in TAXIMETER_SHARED", path)
	}
	return path
}

// Table are the rows of a gzipped CSV file of that name; the first one has the columns' names.
func Table(t testing.TB, name string) [][]string {
	t.Helper()
	file, err := os.Open(Path(t, name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	text, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(text).ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return rows
}

// root is the nearest folder upwards that holds go.mod.
func root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("no go.mod in this folder or above")
		}
		dir = parent
	}
}
