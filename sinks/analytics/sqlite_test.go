package analytics_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
)

func embedded() database {
	return database{
		fresh: func(t testing.TB) string { return "sqlite:" + filepath.Join(t.TempDir(), "a folder?", "tables.db") },
		exec: func(t testing.TB, url string, statements ...string) {
			t.Helper()
			db, err := sql.Open("sqlite", "file:"+strings.ReplaceAll(strings.TrimPrefix(url, "sqlite:"), "?", "%3f"))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = db.Close() }()
			for _, s := range statements {
				if _, err := db.Exec(s); err != nil {
					t.Fatalf("%s: %v", s, err)
				}
			}
		},
		setProgress: []string{"UPDATE progresso SET made = %d, restores = %d"},
		addColumn:   "ALTER TABLE viagens ADD COLUMN nova TEXT",
	}
}

func TestSQLite(t *testing.T) { suite(t, embedded()) }
