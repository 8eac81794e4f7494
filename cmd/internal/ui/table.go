package ui

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"taximeter/schemas"
)

// Table is rows of cells under a head, for a fixed-width screen. A head that begins with
// ">" is that of a column of figures, which align to the right.
type Table struct {
	Head []string
	rows [][]string
}

// Add appends a row; cells may be fewer than the heads.
func (t *Table) Add(cells ...string) { t.rows = append(t.rows, cells) }

// Len is the number of rows.
func (t *Table) Len() int { return len(t.rows) }

// Print writes the table, each line behind indent.
func (t *Table) Print(w io.Writer, indent string) {
	head := make([]string, len(t.Head))
	width := make([]int, len(t.Head))
	for i, h := range t.Head {
		head[i] = strings.TrimPrefix(h, ">")
		width[i] = utf8.RuneCountInString(head[i])
		for _, row := range t.rows {
			if i < len(row) {
				width[i] = max(width[i], utf8.RuneCountInString(row[i]))
			}
		}
	}
	for _, row := range append([][]string{head}, t.rows...) {
		line := indent
		for i, cell := range row {
			space := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if strings.HasPrefix(t.Head[i], ">") {
				line += space + cell + "  "
			} else {
				line += cell + space + "  "
			}
		}
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
}

// Instant writes an instant in UTC as people read it: 2013-07-01 00:00:53.250Z, without
// a fraction that is zero.
func Instant(t schemas.Millis) string {
	switch {
	case t == schemas.NoTime:
		return "not yet"
	case t == schemas.EndOfTime:
		return "the end of input"
	case t%schemas.Second == 0:
		return t.Time().Format(time.DateTime) + "Z"
	}
	return t.Time().Format("2006-01-02 15:04:05.000Z")
}
