//go:build integration

package analytics_test

import (
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	_ "github.com/ClickHouse/clickhouse-go/v2" // registers the driver "clickhouse"
	_ "github.com/jackc/pgx/v5/stdlib"         // registers the driver "pgx"

	"taximeter/internal/serverstest"
	"taximeter/schemas"
)

func TestPostgres(t *testing.T) { suite(t, postgresServer(t)) }

func TestClickHouse(t *testing.T) { suite(t, clickhouseServer(t)) }

// What the views hide must also go, or the table grows for ever; and windows of long ago must
// not be written at all: ClickHouse refuses an insert into more than a hundred partitions.
func TestClickHouseDropsOldWindows(t *testing.T) {
	url := clickhouseServer(t).fresh(t)
	db := open(t, url)
	const hour = 3_600_000
	newest := noon + 100*24*hour
	backlog := func(version int) (all []schemas.Window) {
		for start := noon; start <= newest; start += 6 * hour {
			all = append(all, window("a", start, version))
		}
		return all
	}
	held := func() (n int) {
		t.Helper()
		direct, err := sql.Open("clickhouse", url)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = direct.Close() }()
		if err := direct.QueryRow("SELECT COUNT(*) FROM janelas_versoes FINAL").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	commit(t, db, at(0), at(1), item(1, nil, window("a", noon, 1), window("b", noon, 1), window("c", noon, 1)))
	commit(t, db, at(1), at(2), item(2, nil, backlog(2)...))
	commit(t, db, at(2), at(3), item(3, nil, backlog(3)...))
	if got := held(); got < 5 || got > 6 { // a day, and what is left of a partition
		t.Errorf("%d windows held after pruning, want those of a day, 5 or 6", got)
	}
}

// server is the URL of a server that .ci/with-servers has started.
func server(t testing.TB, variable string) *url.URL {
	t.Helper()
	u, err := url.Parse(serverstest.Setting(t, variable))
	if err != nil {
		t.Fatal(err)
	}
	return u
}

var spaces atomic.Int64

// space names a schema or database that no other test uses.
func space() string { return fmt.Sprintf("teste_%d_%d", os.Getpid(), spaces.Add(1)) }

func run(t testing.TB, driver, url string, statements ...string) {
	t.Helper()
	db, err := sql.Open(driver, url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

func postgresServer(t testing.TB) database {
	at := server(t, "TAXIMETER_POSTGRES_URL")
	return database{
		fresh: func(t testing.TB) string {
			u, schema := *at, space()
			run(t, "pgx", at.String(), "CREATE SCHEMA "+schema)
			t.Cleanup(func() { run(t, "pgx", at.String(), "DROP SCHEMA "+schema+" CASCADE") })
			query := u.Query()
			query.Set("search_path", schema)
			u.RawQuery = query.Encode()
			return u.String()
		},
		exec: func(t testing.TB, url string, statements ...string) {
			t.Helper()
			run(t, "pgx", url, statements...)
		},
		setProgress: []string{"UPDATE progresso SET made = %d, restores = %d"},
		addColumn:   "ALTER TABLE viagens ADD COLUMN nova text",
	}
}

func clickhouseServer(t testing.TB) database {
	at := server(t, "TAXIMETER_CLICKHOUSE_URL")
	return database{
		fresh: func(t testing.TB) string {
			name := space()
			run(t, "clickhouse", at.String(), "CREATE DATABASE "+name)
			t.Cleanup(func() { run(t, "clickhouse", at.String(), "DROP DATABASE "+name) })
			return strings.TrimSuffix(at.String(), at.Path) + "/" + name
		},
		exec: func(t testing.TB, url string, statements ...string) {
			t.Helper()
			run(t, "clickhouse", url, statements...)
		},
		setProgress: []string{"TRUNCATE TABLE progresso_passos",
			"INSERT INTO progresso_passos (namespace, made, restores, ultima_janela, atualizado_em) SELECT '" + namespace + "', %d, %d, NULL, 0"},
		rowsFirst: true,
		addColumn: "ALTER TABLE viagens_versoes ADD COLUMN nova Nullable(String)",
	}
}

func BenchmarkPostgres(b *testing.B) { benchCommit(b, postgresServer(b)) }

func BenchmarkClickHouse(b *testing.B) { benchCommit(b, clickhouseServer(b)) }
