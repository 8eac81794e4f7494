package recordings

import (
	"bufio"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"

	"taximeter/schemas"
)

// table reads a CSV file with a header, plain or gzip, row by row.
type table struct {
	path   string
	file   *os.File
	csv    *csv.Reader
	header []string
	row    int // of the file as a spreadsheet counts them: the header is row 1
	fields []string
}

func openTable(ctx context.Context, path string) (*table, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open recording: %w", err)
	}
	t := &table{path: path, file: file, row: 1}
	if err := t.start(ctx); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return t, nil
}

func (t *table) start(ctx context.Context) error {
	plain := bufio.NewReader(until(ctx, t.file))
	var text io.Reader = plain
	if magic, err := plain.Peek(2); err == nil && magic[0] == 0x1f && magic[1] == 0x8b {
		unzipped, err := gzip.NewReader(plain)
		if err != nil {
			return fmt.Errorf("%s: %w", t.path, err)
		}
		text = unzipped
	}
	t.csv = csv.NewReader(text)
	t.csv.ReuseRecord = true
	header, err := t.csv.Read()
	if err != nil {
		return fmt.Errorf("%s: no header row: %w", t.path, err)
	}
	t.header = slices.Clone(header)
	return nil
}

// until reads as long as ctx lasts.
func until(ctx context.Context, r io.Reader) io.Reader {
	return reading(func(b []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return r.Read(b)
	})
}

type reading func([]byte) (int, error)

func (f reading) Read(b []byte) (int, error) { return f(b) }

func (t *table) close() error { return t.file.Close() }

// missing are the wanted columns that the table has not.
func (t *table) missing(want []string) (absent []string) {
	for _, c := range want {
		if !slices.Contains(t.header, c) {
			absent = append(absent, c)
		}
	}
	return absent
}

// next moves to the next row; false at the end.
func (t *table) next() (bool, error) {
	fields, err := t.csv.Read()
	if err == io.EOF {
		return false, nil
	}
	t.row++
	if err != nil {
		return false, fmt.Errorf("%s: row %d: %w", t.path, t.row, err)
	}
	t.fields = fields
	return true, nil
}

// text is the present row's value in a column that the table has; it is the caller's to keep.
func (t *table) text(column string) string {
	return strings.Clone(t.fields[slices.Index(t.header, column)])
}

func (t *table) fault(column, want string) error {
	return fmt.Errorf("%s: row %d: %s: want %s, have %q", t.path, t.row, column, want, t.text(column))
}

// id is a value that may be part of a tripId.
func (t *table) id(column string) (string, error) {
	if v := t.text(column); v != "" {
		return v, nil
	}
	return "", t.fault(column, "an id")
}

// instant is a value in Unix seconds.
func (t *table) instant(column string) (schemas.Millis, error) {
	const most = int64(schemas.EndOfTime / schemas.Second)
	s, err := strconv.ParseInt(t.text(column), 10, 64)
	if err != nil || s > most || s < -most {
		return 0, t.fault(column, "whole Unix seconds")
	}
	return schemas.Millis(s) * schemas.Second, nil
}

func (t *table) degrees(column string) (float64, error) {
	v, err := strconv.ParseFloat(t.text(column), 64)
	if err != nil {
		return 0, t.fault(column, "degrees")
	}
	return v + 0, nil // -0 and 0 are one place
}

func (t *table) count(column string) (int, error) {
	n, err := strconv.Atoi(t.text(column))
	if err != nil || n < 0 {
		return 0, t.fault(column, "a count")
	}
	return n, nil
}
