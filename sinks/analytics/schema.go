package analytics

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// The files schema/DATABASE/NNNN_what.sql, applied in order. One that has been released is
// never edited: a change is the next number.
//
//go:embed schema
var schemaFiles embed.FS

// migration is one step of a schema; steps are numbered from 1 without a gap.
type migration struct {
	number     int
	name       string
	statements []string
}

// lacking lists what a schema of some number still lacks. One from the future is refused:
// what its columns mean is not known here.
func lacking(database string, present int) ([]migration, error) {
	all, err := migrations(database)
	if err != nil {
		return nil, err
	}
	if present > len(all) {
		return nil, fmt.Errorf("%w: the tables have schema %d and this taximeter knows them up to %d: run the version that made them, or a later one", ErrRefused, present, len(all))
	}
	return all[present:], nil
}

func migrations(database string) ([]migration, error) {
	dir := path.Join("schema", database)
	files, err := fs.ReadDir(schemaFiles, dir) // sorted by name
	if err != nil {
		return nil, err
	}
	var all []migration
	for i, f := range files {
		text, err := schemaFiles.ReadFile(path.Join(dir, f.Name()))
		if err != nil {
			return nil, err
		}
		digits, _, _ := strings.Cut(f.Name(), "_")
		if n, err := strconv.Atoi(digits); err != nil || n != i+1 {
			return nil, fmt.Errorf("migration %s/%s should have number %d", dir, f.Name(), i+1)
		}
		all = append(all, migration{i + 1, f.Name(), statements(string(text))})
	}
	return all, nil
}

// statements splits a file where a line ends with a semicolon.
func statements(text string) []string {
	return slices.DeleteFunc(strings.Split(text, ";\n"), func(s string) bool { return strings.TrimSpace(s) == "" })
}

// dialect is what differs between the databases when their tables are made.
type dialect struct {
	database string // folder of schema/
	// versions makes the table of applied migrations if absent.
	versions string
	// claim inserts the first progress row of a namespace (its only parameter).
	claim string
}

// querier is a transaction, or a database that has none.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// prepare brings the tables to the present schema and claims them for a namespace. Without a
// transaction it can break off anywhere and be done again, if the statements allow that.
func (d dialect) prepare(ctx context.Context, q querier, namespace string) error {
	if _, err := q.ExecContext(ctx, d.versions); err != nil {
		return fmt.Errorf("make table esquema: %w", err)
	}
	var present int
	if err := q.QueryRowContext(ctx, "SELECT COALESCE(MAX(numero), 0) FROM esquema").Scan(&present); err != nil {
		return fmt.Errorf("read table esquema: %w", err)
	}
	steps, err := lacking(d.database, present)
	if err != nil {
		return err
	}
	for _, m := range steps {
		for _, s := range m.statements {
			if _, err := q.ExecContext(ctx, s); err != nil {
				return fmt.Errorf("apply migration %s: %w", m.name, err)
			}
		}
		record := fmt.Sprintf("INSERT INTO esquema (numero, nome) SELECT %d, '%s'", m.number, m.name)
		if _, err := q.ExecContext(ctx, record); err != nil {
			return fmt.Errorf("record migration %s: %w", m.name, err)
		}
	}
	var owners int
	var owner string
	if err := q.QueryRowContext(ctx, "SELECT COUNT(*), COALESCE(MAX(namespace), '') FROM progresso").Scan(&owners, &owner); err != nil {
		return fmt.Errorf("read table progresso: %w", err)
	}
	if owners == 0 {
		if _, err := q.ExecContext(ctx, d.claim, namespace); err != nil {
			return fmt.Errorf("claim the tables: %w", err)
		}
		return nil
	}
	return belongs(owner, namespace)
}

// belongs checks whose tables these are.
func belongs(owner, namespace string) error {
	if owner != namespace {
		return fmt.Errorf("%w: the tables belong to namespace %s, not %s: give each namespace its own database or schema", ErrRefused, owner, namespace)
	}
	return nil
}
