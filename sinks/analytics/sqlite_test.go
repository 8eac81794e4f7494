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

// Without the index a dashboard would read all trips of all time at every refresh.
func TestFleetIsReadByIndex(t *testing.T) {
	url := embedded().fresh(t)
	open(t, url)
	direct, err := sql.Open("sqlite", "file:"+strings.ReplaceAll(strings.TrimPrefix(url, "sqlite:"), "?", "%3f"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = direct.Close() }()
	rows, err := direct.Query("EXPLAIN QUERY PLAN SELECT minuto, SUM(iniciadas) FROM frota_minuto WHERE minuto >= 1 AND regiao = 'recife' GROUP BY minuto")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var plan []string
	for rows.Next() {
		var id, parent, unused int
		var step string
		if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
			t.Fatal(err)
		}
		plan = append(plan, step)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	for _, index := range []string{"viagens_inicio", "viagens_termino"} {
		if !strings.Contains(strings.Join(plan, "\n"), "SEARCH viagens USING INDEX "+index) {
			t.Errorf("%s is not used: %q", index, plan)
		}
	}
}
