package analytics

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"strings"

	"taximeter/checkpoint"
	"taximeter/sinks"
)

// ErrRefused: the database cannot be used as it is configured or as it stands, and opening it
// again will not help. Other errors of Open may pass, such as a server that is down.
var ErrRefused = fmt.Errorf("analytics %w", sinks.ErrRefused)

// DB is the analytical tables of one namespace. It is safe for concurrent use.
type DB struct {
	Reader
	place string // the URL without its password
	store store
	log   *slog.Logger
}

// store is what a database must bring.
type store interface {
	// progress is the progress row of the namespace.
	progress(ctx context.Context) (sinks.Progress, error)
	// commit upserts rows and moves the progress row from from to to, or answers
	// sinks.ErrMoved before it writes anything.
	commit(ctx context.Context, from, to sinks.Progress, rows rows) error
	close() error
}

var _ sinks.Sink = (*DB)(nil)

// Open connects to the database at a URL, brings its tables to the present schema, and
// claims them for a namespace. They belong to one: another's checkpoint ids could not be
// compared with its own.
//
//	sqlite:PATH                      an embedded file, made with its folder if absent
//	postgres://USER@HOST/DATABASE    and pgx's parameters, such as ?search_path=taximeter
//	clickhouse://USER@HOST:9000/DATABASE
func Open(ctx context.Context, rawURL, namespace string, log *slog.Logger) (*DB, error) {
	scheme, rest, _ := strings.Cut(rawURL, ":")
	db := &DB{place: place(rawURL), log: log}
	var err error
	switch scheme {
	case "sqlite":
		err = db.openSQLite(ctx, rest, namespace)
	case "postgres", "postgresql":
		err = db.openPostgres(ctx, rawURL, namespace)
	case "clickhouse":
		err = db.openClickHouse(ctx, rawURL, namespace)
	default:
		err = fmt.Errorf("%w: no such kind of database; write sqlite:PATH, postgres://USER@HOST/DATABASE or clickhouse://USER@HOST:9000/DATABASE", ErrRefused)
	}
	if err != nil {
		return nil, fmt.Errorf("open analytics at %s: %w", db.place, err)
	}
	return db, nil
}

// place is a URL as it may be told in logs.
func place(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		scheme, _, _ := strings.Cut(rawURL, ":")
		return scheme + ":(not a URL)" // it may hold a password
	}
	if query := u.Query(); query.Has("password") {
		query.Set("password", "xxxxx")
		u.RawQuery = query.Encode()
	}
	return u.Redacted()
}

// Name implements sinks.Sink.
func (db *DB) Name() string { return "analytics" }

// Progress implements sinks.Sink.
func (db *DB) Progress(ctx context.Context) (sinks.Progress, error) {
	p, err := db.store.progress(ctx)
	if err != nil {
		return p, fmt.Errorf("read progress of analytics at %s: %w", db.place, err)
	}
	return p, nil
}

// Commit implements sinks.Sink.
func (db *DB) Commit(ctx context.Context, from, to sinks.Progress, items []sinks.Item) error {
	if to.Made < from.Made || to.Restores != from.Restores {
		panic(fmt.Sprintf("analytics: commit from %+v to %+v", from, to))
	}
	return db.commit(ctx, from, to, newest(items))
}

// Rewind implements sinks.Sink. There is nothing to take back: what the abandoned line wrote
// is replaced by the rows of later manifests, which compute the same trips again.
func (db *DB) Rewind(ctx context.Context, from sinks.Progress, line checkpoint.Span) error {
	db.log.Info("the rows of an abandoned line stay until they are replaced",
		"sink", db.Name(), "after", line.After, "through", line.Through)
	return db.commit(ctx, from, sinks.Progress{Made: from.Made, Restores: from.Restores + 1}, rows{})
}

func (db *DB) commit(ctx context.Context, from, to sinks.Progress, rows rows) error {
	if err := db.store.commit(ctx, from, to, rows); err != nil {
		return fmt.Errorf("commit checkpoints %d to %d to analytics at %s (%d trips, %d windows): %w",
			from.Made, to.Made, db.place, len(rows.trips), len(rows.windows), err)
	}
	return nil
}

// Close implements sinks.Sink.
func (db *DB) Close() error { return db.store.close() }
