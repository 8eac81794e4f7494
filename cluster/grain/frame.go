package grain

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Refusal is an answer that is not what was asked for, by the owner's free will. The word
// is for programs and part of the protocol, the text for people.
type Refusal struct{ Word, Text string }

func (r *Refusal) Error() string { return r.Text }

// frame is the one message on the wire, in both directions: format, counted head, body.
// Of a question the head is its kind; of an answer it is the word of a refusal, whose text
// is the body, or empty.
type frame struct {
	head string
	body []byte
}

const (
	frameFormat = 1
	maxHead     = 64
)

var errFrame = errors.New("no frame of ours")

func (f *frame) marshal() ([]byte, error) {
	if len(f.head) > maxHead {
		return nil, fmt.Errorf("kind or word %q has %d bytes, at most %d are allowed", f.head, len(f.head), maxHead)
	}
	w := make([]byte, 0, 2+len(f.head)+len(f.body))
	w = append(w, frameFormat)
	w = binary.AppendUvarint(w, uint64(len(f.head)))
	w = append(w, f.head...)
	return append(w, f.body...), nil
}

func (f *frame) unmarshal(data []byte) error {
	if len(data) < 2 || data[0] != frameFormat {
		return errFrame
	}
	n, used := binary.Uvarint(data[1:])
	data = data[1:]
	if used <= 0 || n > maxHead || n > uint64(len(data)-used) {
		return errFrame
	}
	data = data[used:]
	f.head, f.body = string(data[:n]), append([]byte(nil), data[n:]...)
	return nil
}

// codec makes gRPC carry frames, and nothing but frames.
type codec struct{}

// Name becomes part of the content type.
func (codec) Name() string { return "taximeter" }

func (codec) Marshal(v any) ([]byte, error) {
	f, ok := v.(*frame)
	if !ok {
		return nil, errFrame
	}
	return f.marshal()
}

func (codec) Unmarshal(data []byte, v any) error {
	f, ok := v.(*frame)
	if !ok {
		return errFrame
	}
	return f.unmarshal(data)
}
