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
)

func TestPostgres(t *testing.T) { suite(t, postgresServer(t)) }

func TestClickHouse(t *testing.T) { suite(t, clickhouseServer(t)) }

// server is the URL of a server that .ci/with-servers has started.
func server(t testing.TB, variable string) *url.URL {
	t.Helper()
	u, err := url.Parse(os.Getenv(variable))
	if err != nil || u.Host == "" {
		t.Fatalf("%s=%q names no server: run the tests by way of .ci/with-servers", variable, os.Getenv(variable))
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
