package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Format is the newest version that this program writes. A program reads every format up
// to its own. Any change of what an encoded value holds, also a field added to
// schemas.Alert, raises it, and with it the protocol that it is written under: an older
// program would otherwise drop the field when it carries an entry forward.
const Format = 2

// firstFormat is still that of seals, stubs and audits.
const firstFormat = 1

// NewerFormatError is an object written by a later program than this one.
type NewerFormatError struct {
	Key        string
	Have, Want int // newest format this program reads; the object's
}

func (e *NewerFormatError) Error() string {
	return fmt.Sprintf("%s has format %d and this taximeter reads up to %d: upgrade this node", e.Key, e.Want, e.Have)
}

// CorruptError is an object whose content is not what was written.
type CorruptError struct {
	Key    string
	Detail string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("%s is damaged: %s; restore the object from a backup, or the namespace to an earlier checkpoint", e.Key, e.Detail)
}

// ErrRetired is a manifest that is no longer retained; a stub stands at its key.
var ErrRetired = errors.New("manifest is no longer retained")

type kind string

const (
	kindManifest kind = "manifest"
	kindSeal     kind = "seal"
	kindStub     kind = "stub"
	kindAudit    kind = "audit"
)

// envelope is the outer form of every JSON object, fixed for all formats, as is the order of its
// fields. The sum covers format, kind and the exact bytes of the body.
type envelope struct {
	Format int    `json:"format"`
	Kind   kind   `json:"kind"`
	SHA256 string `json:"sha256"`
	Body   []byte `json:"-"` // JSON, the last field
}

// bodyField is between the other fields, none of which can hold it, and the body. A manifest of
// many files is half a megabyte: its body is parsed once, and not with the envelope too.
const bodyField = `,"body":`

func (e envelope) sum() string {
	h := sha256.New()
	h.Write(fmt.Appendf(nil, "%d %s\n", e.Format, e.Kind))
	h.Write(e.Body)
	return hex.EncodeToString(h.Sum(nil))
}

func encode(format int, k kind, body any) ([]byte, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", k, err)
	}
	e := envelope{Format: format, Kind: k, Body: raw}
	e.SHA256 = e.sum()
	head, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", k, err)
	}
	return slices.Concat(head[:len(head)-1], []byte(bodyField), raw, []byte{'}'}), nil
}

// open checks the envelope found at key.
func open(key string, data []byte) (envelope, error) {
	var e envelope
	head, body, ok := bytes.Cut(data, []byte(bodyField))
	body, closed := bytes.CutSuffix(bytes.TrimSpace(body), []byte{'}'})
	if !ok || !closed {
		return e, &CorruptError{Key: key, Detail: "it is not an envelope with a body"}
	}
	if err := json.Unmarshal(slices.Concat(head, []byte{'}'}), &e); err != nil {
		return e, &CorruptError{Key: key, Detail: err.Error()}
	}
	e.Body = body
	if got := e.sum(); got != e.SHA256 {
		return e, &CorruptError{Key: key, Detail: fmt.Sprintf("its checksum is %.12s.., %.12s.. was written", got, e.SHA256)}
	}
	if e.Format > Format {
		return e, &NewerFormatError{Key: key, Have: Format, Want: e.Format}
	}
	if e.Format < 1 {
		return e, &CorruptError{Key: key, Detail: fmt.Sprintf("format %d never existed", e.Format)}
	}
	return e, nil
}

// body decodes strictly: a field that this format does not have must not be dropped.
func (e envelope) body(key string, want kind, into any) error {
	if e.Kind != want {
		return &CorruptError{Key: key, Detail: fmt.Sprintf("it holds a %s, not a %s", e.Kind, want)}
	}
	if err := strict(e.Body, into); err != nil {
		return &CorruptError{Key: key, Detail: err.Error()}
	}
	return nil
}

func strict(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

// EncodeManifest is the content of the object at m's key. The same manifest always gives
// the same bytes.
func EncodeManifest(m Manifest) ([]byte, error) {
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("encode manifest %d: %w", m.Number, err)
	}
	return encode(m.Speaks().manifestFormat(), kindManifest, m)
}

// DecodeManifest reads the object found at key. A stub is ErrRetired.
func DecodeManifest(key string, data []byte) (Manifest, error) {
	return new(parsed).manifest(key, data)
}

// parsed is the entries of the manifest that was decoded last, each beside its text. With hundreds of files a
// partition it takes ten milliseconds to parse them all, and the next manifest mostly says the same of all but one.
type parsed []entryText

type entryText struct {
	text  []byte // of a manifest's body, which is kept for it
	entry Entry
}

func (p *parsed) manifest(key string, data []byte) (Manifest, error) {
	e, err := open(key, data)
	if err != nil {
		return Manifest{}, err
	}
	if e.Kind == kindStub {
		return Manifest{}, fmt.Errorf("%s: %w", key, ErrRetired)
	}
	if e.Kind != kindManifest {
		return Manifest{}, &CorruptError{Key: key, Detail: fmt.Sprintf("it holds a %s, not a %s", e.Kind, kindManifest)}
	}
	var m Manifest
	now, rest, err := p.entries(e.Body)
	if err == nil {
		err = strict(rest, &m)
	}
	if err != nil {
		return Manifest{}, &CorruptError{Key: key, Detail: err.Error()}
	}
	for i := range now {
		m.Entries = append(m.Entries, now[i].entry)
	}
	if m.Protocol > NewestProtocol {
		return Manifest{}, &NewerProtocolError{Key: key, Have: NewestProtocol, Want: m.Protocol}
	}
	if err := m.check(); err != nil {
		return Manifest{}, &CorruptError{Key: key, Detail: err.Error()}
	}
	if m.Namespace.Manifest(m.Number) != key {
		return Manifest{}, &CorruptError{Key: key, Detail: fmt.Sprintf("it holds manifest %d of %s", m.Number, m.Namespace)}
	}
	*p = now
	return m, nil
}

// entriesField begins the entries in a manifest's body; no text before it can hold it, since quotes in texts are
// escaped.
const entriesField = `,"entries":[`

// entries takes them out of a manifest's body: those whose text is that of before are not parsed.
func (p *parsed) entries(body []byte) (now parsed, rest []byte, err error) {
	head, tail, ok := bytes.Cut(body, []byte(entriesField))
	if !ok {
		return nil, body, nil
	}
	for len(tail) > 0 && tail[0] != ']' {
		one := entryText{}
		if i := len(now); i < len(*p) && (*p)[i].begins(tail) {
			one = entryText{tail[:len((*p)[i].text)], (*p)[i].entry} // the text before would keep all of its manifest
		} else {
			d := json.NewDecoder(bytes.NewReader(tail))
			d.DisallowUnknownFields()
			if err := d.Decode(&one.entry); err != nil {
				return nil, nil, err
			}
			one.text = tail[:d.InputOffset()]
		}
		now = append(now, one)
		tail = bytes.TrimPrefix(tail[len(one.text):], []byte{','})
	}
	return now, slices.Concat(head, []byte(entriesField), tail), nil
}

// begins reports whether the entry's text is the first of some.
func (e entryText) begins(text []byte) bool {
	return bytes.HasPrefix(text, e.text) && len(text) > len(e.text) && (text[len(e.text)] == ',' || text[len(e.text)] == ']')
}

// stub is what stands at a retired manifest's key for ever: deleting the key would let a
// put of that number, stalled for years, succeed.
type stub struct {
	Number Number `json:"number"`
}

func encodeStub(n Number) ([]byte, error) { return encode(firstFormat, kindStub, stub{Number: n}) }

// EncodeSeal is the content of the object at s.Key().
func EncodeSeal(s Seal) ([]byte, error) { return encode(firstFormat, kindSeal, s) }

// DecodeSeal reads the object found at key.
func DecodeSeal(key string, data []byte) (Seal, error) {
	e, err := open(key, data)
	if err != nil {
		return Seal{}, err
	}
	var s Seal
	if err := e.body(key, kindSeal, &s); err != nil {
		return Seal{}, err
	}
	if s.Key() != key {
		return Seal{}, &CorruptError{Key: key, Detail: "it holds the seal of " + s.Key()}
	}
	return s, nil
}
