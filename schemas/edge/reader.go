package edge

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/klauspost/compress/gzip"

	"taximeter/schemas"
)

// MaxLine is the longest line read, in bytes without its end.
const MaxLine = 16 << 20

var (
	gzipMagic = []byte{0x1f, 0x8b}
	utf8BOM   = []byte{0xef, 0xbb, 0xbf}
)

// Reader reads an event file. It is not safe for concurrent use.
type Reader struct {
	name   string
	source *bufio.Reader // as given
	lines  *bufio.Reader // plain text; nil until the first Next has looked whether it is gzip
	long   []byte        // a line longer than the buffer, put together
	number int
	line   Line
	env    object
	parser parser
	decode RawDecoder
	err    error // the end, or what stopped the reading
}

// Option changes how a Reader reads.
type Option func(*Reader)

// WithRawDecoder lets Record read lines that carry a raw Kafka value; without it they
// are schemas.DLQUnreadable.
func WithRawDecoder(d RawDecoder) Option { return func(r *Reader) { r.decode = d } }

// NewReader reads events from r, plain or gzip; name stands for it in messages.
func NewReader(name string, r io.Reader, opts ...Option) *Reader {
	rd := &Reader{name: name, source: bufio.NewReaderSize(r, 256<<10), parser: parser{scan: newScanner()}}
	for _, o := range opts {
		o(rd)
	}
	return rd
}

// Next is the next event, valid as Line says; io.EOF at the end. Any other error names
// the file and the line, and every later call returns it again.
func (r *Reader) Next() (*Line, error) {
	if r.err != nil {
		return nil, r.err
	}
	for {
		text, err := r.readLine()
		if err == io.EOF {
			r.err = io.EOF
			return nil, r.err
		}
		if err == nil {
			if text = bytes.TrimRight(text, " \t\r"); len(text) == 0 {
				continue
			}
			err = r.parse(text)
		}
		if err != nil {
			r.err = fmt.Errorf("%s:%d: %w", r.name, r.number, err)
			return nil, r.err
		}
		return &r.line, nil
	}
}

func (r *Reader) parse(text []byte) error {
	isObject, err := r.parser.scan.object(text, &r.env)
	if err != nil {
		return inUsersWords(err, text)
	}
	if !isObject {
		return fmt.Errorf("not an event but %s; write {\"topic\":...,\"value\":{...}}", shorten(text))
	}
	l, o := &r.line, &r.env
	*l = Line{Number: r.number, decode: r.decode}
	name := required(o, fTopic, parseText[string])
	l.AppendedAt = orElse(o, fAppendedAt, parseInstant, schemas.NoTime)
	l.Key = orElse(o, fKey, parseKey, nil)
	l.Raw = orElse(o, fRaw, parseBase64, nil)
	if o.fault != nil {
		return o.fault
	}
	var known bool
	if l.Topic, known = schemas.InputTopic(name); !known {
		return fmt.Errorf("unknown topic %q; events are of %s, %s or %s",
			name, schemas.TopicTelemetry, schemas.TopicRides, schemas.TopicPayments)
	}
	l.Value = o.values[fValue]
	switch {
	case l.Value != nil && l.Raw != nil:
		return errors.New(`both "value" and "raw"; leave one of them out`)
	case l.Value != nil:
		return r.parser.parse(l)
	case l.Raw != nil:
		l.Fault, l.Detail = schemas.DLQUnreadable, "raw: a Kafka value, not a JSON record"
		return nil
	}
	return errors.New(`neither "value" (the record) nor "raw" (base64 of a Kafka value); give one of them`)
}

// parseKey is never nil: an empty key is a key.
func parseKey(v jsontext.Value) ([]byte, error) {
	text, err := parseText[string](v)
	return []byte(text), err
}

func parseBase64(v jsontext.Value) ([]byte, error) {
	text, err := parseText[string](v)
	if err != nil {
		return nil, err
	}
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("not standard base64 with padding: %s", shorten(v))
	}
	return raw, nil
}

// readLine is the next line without its end; it stays valid until the next call.
func (r *Reader) readLine() ([]byte, error) {
	r.number++
	if r.lines == nil {
		if err := r.sniff(); err != nil {
			return nil, err
		}
	}
	r.long = r.long[:0]
	for {
		part, err := r.lines.ReadSlice('\n')
		part = bytes.TrimSuffix(part, []byte("\n"))
		if len(r.long)+len(part) > MaxLine {
			return nil, fmt.Errorf("line longer than %d MiB; write one event a line", MaxLine>>20)
		}
		switch {
		case err == bufio.ErrBufferFull:
			r.long = append(r.long, part...)
			continue
		case err == io.EOF && len(r.long)+len(part) == 0:
			return nil, io.EOF
		case err == io.ErrUnexpectedEOF:
			return nil, errors.New("the gzip file is cut short; copy it again whole")
		case err != nil && err != io.EOF:
			return nil, fmt.Errorf("read events: %w", err)
		}
		if len(r.long) > 0 {
			r.long = append(r.long, part...)
			return r.long, nil
		}
		return part, nil
	}
}

// sniff looks at the first bytes, because names such as events.jsonl.gz are often wrong.
func (r *Reader) sniff() error {
	r.lines = r.source
	head, err := r.source.Peek(len(utf8BOM))
	if err != nil && err != io.EOF {
		return fmt.Errorf("read events: %w", err)
	}
	switch {
	case bytes.HasPrefix(head, gzipMagic):
		plain, err := gzip.NewReader(r.source)
		if err != nil {
			return fmt.Errorf("read gzip header: %w", err)
		}
		r.lines = bufio.NewReaderSize(plain, 256<<10)
	case bytes.Equal(head, utf8BOM):
		if _, err := r.source.Discard(len(utf8BOM)); err != nil {
			return fmt.Errorf("read events: %w", err)
		}
	}
	return nil
}

// inUsersWords tells where on the line the JSON goes wrong.
func inUsersWords(err error, text []byte) error {
	if !utf8.Valid(text) {
		return errors.New("not UTF-8; save the file as UTF-8")
	}
	var at *jsontext.SyntacticError
	if !errors.As(err, &at) {
		return err
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("not valid JSON: the line is cut short; write one whole event a line")
	}
	why := strings.TrimPrefix(at.Err.Error(), "jsontext: ")
	return fmt.Errorf("not valid JSON at byte %d of the line: %s", at.ByteOffset+1, why)
}
