// Package events reads event files one after the other as if they were one.
package events

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync/atomic"

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
