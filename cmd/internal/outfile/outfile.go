// Package outfile writes files that appear whole or not at all: each is written under
// another name beside its own and takes its name when all of it is there.
package outfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/klauspost/compress/gzip"
)

// File is a file being written. A path that ends in .gz is compressed.
type File struct {
	path, part string
	file       *os.File
	zip        *gzip.Writer // nil = plain
	buf        *bufio.Writer
}

// Create begins a file. The caller ends it with Publish or Discard.
func Create(path string) (*File, error) {
	if at, err := os.Stat(path); err == nil && !at.Mode().IsRegular() {
		return nil, fmt.Errorf("cannot write %s: it is there and not a plain file; choose another name", path)
	}
	part := fmt.Sprintf("%s.%d.part", path, os.Getpid())
	file, err := os.Create(part)
	if err != nil {
		return nil, fmt.Errorf("cannot write %s: %w; choose a folder that exists and that you may write to", path, cause(err))
	}
	f := &File{path: path, part: part, file: file}
	var out io.Writer = file
	if strings.HasSuffix(path, ".gz") {
		f.zip = gzip.NewWriter(file)
		out = f.zip
	}
	f.buf = bufio.NewWriterSize(out, 256<<10)
	return f, nil
}

// Path is the name that the file will have.
func (f *File) Path() string { return f.path }

func (f *File) Write(b []byte) (int, error) {
	n, err := f.buf.Write(b)
	if err != nil {
		err = f.failed(err)
	}
	return n, err
}

func (f *File) failed(err error) error {
	return fmt.Errorf("cannot write %s: %w; free some space or choose another place", f.path, cause(err))
}

// finish brings all that was written to the file.
func (f *File) finish() error {
	if f.file == nil {
		return nil
	}
	err := f.buf.Flush()
	if err == nil && f.zip != nil {
		err = f.zip.Close()
	}
	if err = errors.Join(err, f.file.Close()); err != nil {
		err = f.failed(err)
	}
	f.file = nil
	return err
}

// Publish gives the files their names, in order, once all of them are complete. On an
// error those not yet named are gone.
func Publish(files ...*File) (err error) {
	for _, f := range files {
		err = errors.Join(err, f.finish())
	}
	for _, f := range files {
		if err == nil {
			if err = os.Rename(f.part, f.path); err != nil {
				err = f.failed(err)
			}
		}
		if err != nil {
			err = errors.Join(err, f.Discard())
		}
	}
	return err
}

// Discard removes what was written. After Publish it does nothing.
func (f *File) Discard() error {
	if f.file != nil {
		_ = f.file.Close() // what it could not write is thrown away
		f.file = nil
	}
	if err := os.Remove(f.part); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", f.part, cause(err))
	}
	return nil
}

// cause leaves out the operation and the path, which our own words tell.
func cause(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err
	}
	if at, ok := errors.AsType[*os.LinkError](err); ok {
		return at.Err
	}
	return err
}
