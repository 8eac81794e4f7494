package analytics

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"taximeter/schemas"
	"taximeter/sinks"
)

// postgres is a PostgreSQL server (14 or later). Rows and progress change in one transaction;
// the lock on the progress row puts committers in line.
type postgres struct {
	pool      *pgxpool.Pool
	sql       *sql.DB // the same connections
	namespace string
}

var postgresDialect = dialect{
	database: "postgres",
	versions: "CREATE TABLE IF NOT EXISTS esquema (numero integer PRIMARY KEY, nome text NOT NULL, aplicada_em timestamptz NOT NULL DEFAULT now())",
	claim:    "INSERT INTO progresso (namespace, made, restores, atualizado_em) VALUES ($1, 0, 0, now())",
}

// migrationLock is the advisory lock that puts those in line who open at once: "taximetr".
const migrationLock = 0x746178696d657472

func (db *DB) openPostgres(ctx context.Context, rawURL, namespace string) error {
	config, err := pgxpool.ParseConfig(rawURL)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return err
	}
	p := &postgres{pool, stdlib.OpenDBFromPool(pool), namespace}
	if err := p.prepare(ctx); err != nil {
		return errors.Join(withMend(err), p.close())
	}
	db.store, db.Reader = p, Reader{p.sql, timestamp}
	return nil
}

func (p *postgres) prepare(ctx context.Context) error {
	tx, err := p.sql.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // no effect after Commit
	if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock($1)", int64(migrationLock)); err != nil {
		return err
	}
	if err := postgresDialect.prepare(ctx, tx, p.namespace); err != nil {
		return err
	}
	return tx.Commit()
}

// withMend adds what the operator can do about a refusal of the server.
func withMend(err error) error {
	var refusal *pgconn.PgError
	if errors.As(err, &refusal) && refusal.Code == "42501" { // insufficient_privilege
		return fmt.Errorf("%w: make the tables the user's own: CREATE SCHEMA taximeter AUTHORIZATION the user, and add ?search_path=taximeter to the URL", err)
	}
	return err
}

func (p *postgres) progress(ctx context.Context) (at sinks.Progress, err error) {
	err = p.pool.QueryRow(ctx, "SELECT made, restores FROM progresso WHERE namespace = $1", p.namespace).Scan(&at.Made, &at.Restores)
	return at, err
}

func (p *postgres) commit(ctx context.Context, from, to sinks.Progress, rows rows) error {
	return pgx.BeginFunc(ctx, p.pool, func(tx pgx.Tx) error {
		var at sinks.Progress
		var last instantColumn
		err := tx.QueryRow(ctx, "SELECT made, restores, ultima_janela FROM progresso WHERE namespace = $1 FOR UPDATE", p.namespace).Scan(&at.Made, &at.Restores, &last)
		switch {
		case err != nil:
			return fmt.Errorf("read progress: %w", err)
		case at != from:
			return fmt.Errorf("it stands at %+v: %w", at, sinks.ErrMoved)
		}
		newest := rows.retain(schemas.Millis(last))
		now := schemas.Millis(time.Now().UnixMilli())
		err = copyIn(ctx, tx, tripTable("viagens"), len(rows.trips), func(i int) []any { return rows.trips[i].values(timestamp, now) })
		if err != nil {
			return err
		}
		err = copyIn(ctx, tx, windowTable("janelas"), len(rows.windows), func(i int) []any { return rows.windows[i].values(timestamp, now) })
		if err != nil {
			return err
		}
		if newest != schemas.NoTime {
			if _, err := tx.Exec(ctx, "DELETE FROM janelas WHERE janela_inicio < $1", timestamp(newest.Add(-WindowRetention))); err != nil {
				return fmt.Errorf("prune janelas: %w", err)
			}
		}
		_, err = tx.Exec(ctx, "UPDATE progresso SET made = $1, restores = $2, ultima_janela = $3, atualizado_em = $4 WHERE namespace = $5",
			to.Made, to.Restores, instant(timestamp).orNull(newest), timestamp(now), p.namespace)
		return err
	})
}

// copyIn upserts n rows of values by way of a temporary table, which stays with the
// connection: made anew in every commit it would fill the server's catalogue with dead rows.
func copyIn(ctx context.Context, tx pgx.Tx, t table, n int, values func(i int) []any) error {
	if n == 0 {
		return nil
	}
	staged := "entrada_" + t.name
	if _, err := tx.Exec(ctx, "CREATE TEMPORARY TABLE IF NOT EXISTS "+staged+" (LIKE "+t.name+") ON COMMIT DELETE ROWS"); err != nil {
		return fmt.Errorf("make %s: %w", staged, err)
	}
	source := pgx.CopyFromSlice(n, func(i int) ([]any, error) { return values(i), nil })
	if _, err := tx.CopyFrom(ctx, pgx.Identifier{"pg_temp", staged}, t.columns, source); err != nil {
		return fmt.Errorf("copy into %s: %w", staged, err)
	}
	if _, err := tx.Exec(ctx, t.upsert("SELECT "+columns(t)+" FROM pg_temp."+staged)); err != nil {
		return fmt.Errorf("write %s: %w", t.name, err)
	}
	return nil
}

func (p *postgres) close() error {
	err := p.sql.Close()
	p.pool.Close()
	return err
}
