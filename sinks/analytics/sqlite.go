package analytics

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	driver "modernc.org/sqlite" // registers itself as "sqlite"
	codes "modernc.org/sqlite/lib"

	"taximeter/schemas"
	"taximeter/sinks"
)

// sqlite is the embedded database: one file, one writer at a time.
type sqlite struct {
	*sql.DB
	namespace string
}

var sqliteDialect = dialect{
	database: "sqlite",
	versions: "CREATE TABLE IF NOT EXISTS esquema (numero INTEGER PRIMARY KEY, nome TEXT NOT NULL, aplicada_em TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP)",
	claim:    "INSERT INTO progresso (namespace, made, restores, atualizado_em) VALUES (?, 0, 0, 0)",
}

func (db *DB) openSQLite(ctx context.Context, path, namespace string) error {
	if path == "" {
		return fmt.Errorf("%w: write sqlite: and the file's path", ErrRefused)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("make the folder of the file: %w", err)
	}
	pool, err := sql.Open("sqlite", sqliteURL(path))
	if err != nil {
		return err
	}
	s := &sqlite{pool, namespace}
	if err := s.prepare(ctx); err != nil {
		return errors.Join(err, pool.Close())
	}
	db.store, db.Reader = s, Reader{pool, millis}
	return nil
}

// prepare is tried again while the file is busy: that two make it at once, or one opens while
// the last other closes, busy_timeout does not cover.
func (s *sqlite) prepare(ctx context.Context) error {
	for deadline := time.Now().Add(busy); ; {
		err := s.write(ctx, func(tx *sql.Tx) error { return sqliteDialect.prepare(ctx, tx, s.namespace) })
		var fault *driver.Error
		if !errors.As(err, &fault) || fault.Code()&0xff != codes.SQLITE_BUSY || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// busy is how long a file that another process uses is waited for.
const busy = 10 * time.Second

// sqliteURL names a file and how it is used. An outbox is forgotten once all sinks have it, so
// a commit must survive the loss of power: synchronous=FULL, one fsync a commit. A second
// process on the file is waited for. The cache (KiB) saves most reads of a
// commit's random keys; temp_store keeps the journal of one statement out of the file system.
func sqliteURL(path string) string {
	query := url.Values{"_txlock": {"immediate"}, "_pragma": {fmt.Sprintf("busy_timeout(%d)", busy.Milliseconds()), "journal_mode(WAL)", "synchronous(FULL)", "cache_size(-16384)", "temp_store(MEMORY)"}}
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: query.Encode()}
	return u.String()
}

// write runs f in a transaction that holds the file's only write lock from its beginning.
func (s *sqlite) write(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := s.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

func (s *sqlite) progress(ctx context.Context) (p sinks.Progress, err error) {
	err = s.QueryRowContext(ctx, "SELECT made, restores FROM progresso WHERE namespace = ?", s.namespace).Scan(&p.Made, &p.Restores)
	return p, err
}

func (s *sqlite) commit(ctx context.Context, from, to sinks.Progress, rows rows) error {
	now := schemas.Millis(time.Now().UnixMilli())
	return s.write(ctx, func(tx *sql.Tx) error {
		var at sinks.Progress
		var last instantColumn
		err := tx.QueryRowContext(ctx, "SELECT made, restores, ultima_janela FROM progresso WHERE namespace = ?", s.namespace).Scan(&at.Made, &at.Restores, &last)
		switch {
		case err != nil:
			return fmt.Errorf("read progress: %w", err)
		case at != from:
			return fmt.Errorf("it stands at %+v: %w", at, sinks.ErrMoved)
		}
		newest := rows.retain(schemas.Millis(last))
		err = insert(ctx, tx, tripTable("viagens"), len(rows.trips), func(i int) []any { return rows.trips[i].values(millis, now) })
		if err != nil {
			return err
		}
		err = insert(ctx, tx, windowTable("janelas"), len(rows.windows), func(i int) []any { return rows.windows[i].values(millis, now) })
		if err != nil {
			return err
		}
		if newest != schemas.NoTime {
			if _, err := tx.ExecContext(ctx, "DELETE FROM janelas WHERE janela_inicio < ?", newest.Add(-WindowRetention)); err != nil {
				return fmt.Errorf("prune janelas: %w", err)
			}
		}
		_, err = tx.ExecContext(ctx, "UPDATE progresso SET made = ?, restores = ?, ultima_janela = ?, atualizado_em = ? WHERE namespace = ?",
			to.Made, to.Restores, instant(millis).orNull(newest), int64(now), s.namespace)
		return err
	})
}

// insert upserts n rows of values.
func insert(ctx context.Context, tx *sql.Tx, t table, n int, values func(i int) []any) error {
	whole := n - n%sqliteRows
	err := insertBy(ctx, tx, t, sqliteRows, 0, whole, values)
	if err == nil {
		err = insertBy(ctx, tx, t, 1, whole, n, values)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", t.name, err)
	}
	return nil
}

// insertBy upserts rows [from, to), a multiple of size, in statements of size rows.
func insertBy(ctx context.Context, tx *sql.Tx, t table, size, from, to int, values func(i int) []any) (err error) {
	if from == to {
		return nil
	}
	row := "(?" + strings.Repeat(", ?", len(t.columns)-1) + ")"
	statement, err := tx.PrepareContext(ctx, t.upsert("VALUES "+row+strings.Repeat(", "+row, size-1)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, statement.Close()) }()
	args := make([]any, 0, size*len(t.columns))
	for ; from < to; from += size {
		args = args[:0]
		for i := range size {
			args = append(args, values(from+i)...)
		}
		if _, err := statement.ExecContext(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}

// sqliteRows go into one statement: much of the cost of a row is that of its statement.
const sqliteRows = 64

func (s *sqlite) close() error { return s.Close() }
