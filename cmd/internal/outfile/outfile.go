// Package outfile writes files that appear whole or not at all: each is written under
// another name beside its own and takes its name when all of it is there. What an earlier
// run left under that name makes way first, so that nobody takes it for what this one wrote.
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

// MakeWay removes the files that are about to be written, unless one of them is read too or
// is no plain file: then nothing is removed.
func MakeWay(reads []string, paths ...string) error {
	for _, path := range paths {
		if err := writable(path); err != nil {
			return err
		}
		there, err := os.Stat(path)
		if err != nil {
			continue // nothing to remove, or Create will tell
		}
		for _, r := range reads {
			if read, err := os.Stat(r); err == nil && os.SameFile(read, there) {
				return fmt.Errorf("cannot write %s: it is also what is read; choose another name", path)
			}
		}
	}
	for _, path := range paths {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot replace %s: %w; choose another name", path, cause(err))
		}
	}
	return nil
}

func writable(path string) error {
	if at, err := os.Stat(path); err == nil && !at.Mode().IsRegular() {
		return fmt.Errorf("cannot write %s: it is there and not a plain file; choose another name", path)
	}
	return nil
}

// Create begins a file. The caller ends it with Publish or Discard.
func Create(path string) (*File, error) {
	if err := writable(path); err != nil {
		return nil, err
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
// error none is there.
func Publish(files ...*File) (err error) {
	for _, f := range files {
		err = errors.Join(err, f.finish())
	}
	var named []string
	for _, f := range files {
		if err == nil {
			if err = os.Rename(f.part, f.path); err != nil {
				err = f.failed(err)
			} else {
				named = append(named, f.path)
			}
		}
		if err != nil {
			err = errors.Join(err, f.Discard())
		}
	}
	if err != nil {
		for _, path := range named {
			err = errors.Join(err, os.Remove(path))
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
