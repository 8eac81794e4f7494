package analytics

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"taximeter/schemas"
	"taximeter/sinks"
)

// clickhouse is a ClickHouse server, over the native protocol. It has no transactions, so the
// order makes up for them: first the rows, then the progress row. A crash in between, or two
// committers at once, write the same rows of the same checkpoints again, of which one stands;
// and of progress rows the greatest. Readers may see rows a moment before the progress that
// tells of them.
type clickhouse struct {
	conn      driver.Conn
	sql       *sql.DB
	namespace string
}

var clickhouseDialect = dialect{
	database: "clickhouse",
	versions: "CREATE TABLE IF NOT EXISTS esquema (numero Int32, nome String, aplicada_em DateTime DEFAULT now()) ENGINE = MergeTree ORDER BY numero",
	claim:    "INSERT INTO progresso_passos (namespace, made, restores, ultima_janela, atualizado_em) SELECT $1, 0, 0, NULL, 0",
}

func (db *DB) openClickHouse(ctx context.Context, rawURL, namespace string) error {
	options, err := ch.ParseDSN(rawURL)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	conn, err := ch.Open(options)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err) // it does not connect yet
	}
	c := &clickhouse{conn, ch.OpenDB(options), namespace}
	if err := clickhouseDialect.prepare(ctx, c.sql, namespace); err != nil {
		return errors.Join(err, c.close())
	}
	db.store, db.Reader = c, Reader{c.sql, millis}
	return nil
}

func (c *clickhouse) progress(ctx context.Context) (sinks.Progress, error) {
	at, _, err := c.stand(ctx)
	return at, err
}

// stand reads the progress and the newest window's start. Two namespaces that claimed the
// tables at the same moment are found here.
func (c *clickhouse) stand(ctx context.Context) (at sinks.Progress, last schemas.Millis, err error) {
	var owner, other string
	err = c.sql.QueryRowContext(ctx, "SELECT min(namespace), max(namespace), max(made), max(restores), max(ultima_janela) FROM progresso_passos").
		Scan(&owner, &other, &at.Made, &at.Restores, (*instantColumn)(&last))
	if err != nil {
		return at, last, err
	}
	return at, last, errors.Join(belongs(owner, c.namespace), belongs(other, c.namespace))
}

func (c *clickhouse) commit(ctx context.Context, from, to sinks.Progress, rows rows) error {
	at, last, err := c.stand(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("read progress: %w", err)
	case at != from:
		return fmt.Errorf("it stands at %+v: %w", at, sinks.ErrMoved)
	}
	newest := rows.retain(last)
	now := schemas.Millis(time.Now().UnixMilli())
	err = c.insert(ctx, tripTable("viagens_versoes"), len(rows.trips), func(i int) []any { return rows.trips[i].values(millis, now) })
	if err != nil {
		return err
	}
	err = c.insert(ctx, windowTable("janelas_versoes"), len(rows.windows), func(i int) []any { return rows.windows[i].values(millis, now) })
	if err != nil {
		return err
	}
	// Whoever moved it since we read it wrote what we wrote: to is true whatever stands there.
	step := table{name: "progresso_passos", columns: []string{"namespace", "made", "restores", "ultima_janela", "atualizado_em"}}
	err = c.insert(ctx, step, 1, func(int) []any {
		return []any{c.namespace, int64(to.Made), int64(to.Restores), instant(millis).orNull(newest), int64(now)}
	})
	if err != nil || newest == last {
		return err
	}
	return c.prune(ctx, newest.Add(-WindowRetention))
}

// clickhouseRows is how many rows are held and sent at once.
const clickhouseRows = 20_000

// insert adds n rows of values.
func (c *clickhouse) insert(ctx context.Context, t table, n int, values func(i int) []any) error {
	if n == 0 {
		return nil
	}
	batch, err := c.conn.PrepareBatch(ctx, "INSERT INTO "+t.name+" ("+columns(t)+")")
	if err != nil {
		return fmt.Errorf("write %s: %w", t.name, err)
	}
	for i := range n {
		if err := batch.Append(values(i)...); err != nil {
			return errors.Join(fmt.Errorf("write %s: %w", t.name, err), batch.Abort())
		}
		if batch.Rows() == clickhouseRows {
			if err := batch.Flush(); err != nil {
				return errors.Join(fmt.Errorf("write %s: %w", t.name, err), batch.Abort())
			}
		}
	}
	if err := batch.Send(); err != nil {
		return fmt.Errorf("write %s: %w", t.name, err)
	}
	return nil
}

// prune drops the partitions of janelas that lie wholly before oldest; the view hides the rest.
func (c *clickhouse) prune(ctx context.Context, oldest schemas.Millis) error {
	const partition = 21_600_000 // ms, of the schema
	rows, err := c.sql.QueryContext(ctx, "SELECT DISTINCT partition FROM system.parts WHERE database = currentDatabase() AND table = 'janelas_versoes' AND active AND (toInt64(partition) + 1) * $1 <= $2",
		int64(partition), int64(oldest))
	if err != nil {
		return fmt.Errorf("list partitions of janelas_versoes: %w", err)
	}
	defer func() { _ = rows.Close() }() // its error is that of rows.Err
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return fmt.Errorf("list partitions of janelas_versoes: %w", err)
		}
		if err := c.conn.Exec(ctx, "ALTER TABLE janelas_versoes DROP PARTITION "+name); err != nil {
			return fmt.Errorf("drop partition %s of janelas_versoes: %w", name, err)
		}
	}
	return rows.Err()
}

func (c *clickhouse) close() error { return errors.Join(c.sql.Close(), c.conn.Close()) }
