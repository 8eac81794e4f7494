// Package events reads event files one after the other as if they were one.
package events

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync/atomic"

	"taximeter/schemas"
	"taximeter/schemas/edge"
)

// Files is a run of event files. Next belongs to one goroutine; Read may be asked by any.
type Files struct {
	paths   []string // not yet opened
	options []edge.Option
	size    int64
	read    atomic.Int64
	file    *os.File
	lines   *edge.Reader
}

// Open looks whether all the files can be read, before work is put into the first.
func Open(paths []string, options ...edge.Option) (*Files, error) {
	f := &Files{paths: paths, options: options}
	for _, path := range paths {
		file, err := open(path)
		if err != nil {
			return nil, err
		}
		at, err := file.Stat()
		file.Close()
		switch {
		case err != nil:
			return nil, unreadable(path, err)
		case at.IsDir():
			return nil, fmt.Errorf("cannot read events from %s: it is a folder; name the files in it", path)
		}
		f.size += at.Size()
	}
	return f, nil
}

func open(path string) (*os.File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	return file, nil
}

func unreadable(path string, err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		err = at.Err
	}
	return fmt.Errorf("cannot read events from %s: %w; check the name and your right to read it", path, err)
}

// Next is the next event, valid as edge.Reader says; io.EOF after the last of all files.
func (f *Files) Next() (*edge.Line, error) {
	for {
		if f.lines == nil {
			if len(f.paths) == 0 {
				return nil, io.EOF
			}
			file, err := open(f.paths[0])
			if err != nil {
				return nil, err
			}
			f.file, f.lines = file, edge.NewReader(f.paths[0], counter{file, &f.read}, f.options...)
			f.paths = f.paths[1:]
		}
		line, err := f.lines.Next()
		if err != io.EOF {
			return line, err
		}
		f.file.Close()
		f.file, f.lines = nil, nil
	}
}

// Span reads the files through for the first and the last instant at which something
// happened in them, phones with a fast clock apart. The files are to be read again: pipes
// are refused.
func Span(ctx context.Context, paths []string) (first, last schemas.Millis, err error) {
	for _, path := range paths {
		if at, err := os.Stat(path); err == nil && !at.Mode().IsRegular() && !at.IsDir() {
			return 0, 0, fmt.Errorf("cannot read events from %s twice, to move them to the present: it is no plain file; write it to one first", path)
		}
	}
	f, err := Open(paths)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	first, last = schemas.EndOfTime, schemas.NoTime
	for {
		line, err := f.Next()
		if err == io.EOF {
			break
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return 0, 0, err
		}
		if at := line.EventTime(); at >= schemas.MinInstant && (line.AppendedAt == schemas.NoTime || at <= line.AppendedAt) {
			first, last = min(first, at), max(last, at)
		}
	}
	if last < first {
		return 0, 0, errors.New("the event files hold no event with an instant: there is nothing to play")
	}
	return first, last, nil
}

// Size of all files in bytes as they lie there, compressed or not; pipes count nothing.
func (f *Files) Size() int64 { return f.size }

// Read is how many of those bytes were read.
func (f *Files) Read() int64 { return f.read.Load() }

// Close closes the file being read, if any. Of a file only read there is nothing to lose.
func (f *Files) Close() {
	if f.file != nil {
		f.file.Close()
	}
}

type counter struct {
	r io.Reader
	n *atomic.Int64
}

func (c counter) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n.Add(int64(n))
	return n, err
}
