package edge

import (
	"bytes"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// field is a member name of the envelope or of a record. Names are shared between them:
// "tipo" is one field whether of a ride or of a payment.
type field uint8

const (
	fTopic field = iota
	fValue
	fRaw
	fKey
	fAppendedAt

	fEventID
	fTripID
	fDriverID
	fAt
	fLat
	fLon
	fSpeedKmh
	fPrecisionM
	fDevice
	fRectifies

	fKind
	fPassengerID
	fRegion
	fCategory
	fMultiplier
	fRating
	fRoute

	fAmount
	fCurrency
	fMeans
	fCardID
	fBill

	fVersion
	fDistanceMM
	fDurationS
	fTariffID
	fStart
	fEnd
	fPoints
	fRejected
	fRectification
	fMotive
	fDifference
	fCheckpointID
	numFields
)

var fieldNames = [numFields]string{
	"topic", "value", "raw", "key", "appendedAt",
	"eventId", "tripId", "motoristaId", "ocorridoEm", "latitude", "longitude", "velocidadeKmh", "precisaoM",
	"dispositivo", "retifica",
	"tipo", "passageiroId", "regiao", "categoria", "multiplicador", "nota", "rotaPrevista",
	"valor", "moeda", "meio", "cartaoId", "fatura",
	"versao", "distanciaMM", "duracaoS", "tarifaId", "inicio", "termino", "pontos", "descartados", "retificacao",
	"motivo", "diferenca", "checkpointId",
}

// fieldByName is keyed by the name as it usually stands: quoted, without escapes.
var fieldByName = func() map[string]field {
	m := make(map[string]field, numFields)
	for f, name := range fieldNames {
		m[`"`+name+`"`] = field(f)
	}
	return m
}()

// object is the members of one JSON object that have a field, as raw values of the text
// scanned; of members given twice the last. null and absent are both nil.
type object struct {
	path   string // before the names of its fields, in messages: "fatura."
	fault  error  // the first fault of a field
	values [numFields]jsontext.Value
}

func (o *object) failed(f field, err error) {
	if o.fault == nil {
		o.fault = fmt.Errorf("%s%s: %w", o.path, fieldNames[f], err)
	}
}

// scanner splits JSON text into raw values. One per reader, for its buffers.
type scanner struct {
	src  bytes.Buffer
	text []byte
	dec  *jsontext.Decoder
}

func newScanner() *scanner {
	s := new(scanner)
	s.dec = jsontext.NewDecoder(&s.src)
	return s
}

func (s *scanner) start(text []byte) {
	s.src = *bytes.NewBuffer(text)
	s.text = text
	s.dec.Reset(&s.src, jsontext.AllowDuplicateNames(true))
}

// value is the next value as a part of the text, which unlike the decoder's own slice
// stays valid.
func (s *scanner) value() (jsontext.Value, error) {
	v, err := s.dec.ReadValue()
	if err != nil {
		return nil, err
	}
	end := int(s.dec.InputOffset())
	return jsontext.Value(s.text[end-len(v) : end : end]), nil
}

// object reads text, which must be exactly one JSON value; false when that is no object.
func (s *scanner) object(text []byte, o *object) (bool, error) {
	s.start(text)
	o.fault = nil
	clear(o.values[:])
	if s.dec.PeekKind() != '{' {
		if _, err := s.value(); err != nil {
			return false, err
		}
		return false, s.end()
	}
	if _, err := s.dec.ReadToken(); err != nil {
		return false, err
	}
	for s.dec.PeekKind() == '"' {
		name, err := s.value()
		if err != nil {
			return false, err
		}
		f, known := lookUp(name)
		v, err := s.value()
		if err != nil {
			return false, err
		}
		if !known {
			continue
		}
		if v.Kind() == 'n' {
			v = nil
		}
		o.values[f] = v
	}
	if _, err := s.dec.ReadToken(); err != nil {
		return false, err
	}
	return true, s.end()
}

// elements splits a JSON array already known to be valid.
func (s *scanner) elements(array jsontext.Value) ([]jsontext.Value, error) {
	s.start(array)
	if _, err := s.dec.ReadToken(); err != nil {
		return nil, err
	}
	var all []jsontext.Value
	for s.dec.PeekKind() != ']' {
		v, err := s.value()
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

// end checks that nothing follows.
func (s *scanner) end() error {
	_, err := s.dec.ReadToken()
	switch {
	case err == io.EOF:
		return nil
	case err == nil:
		return errTrailing
	}
	return err
}

func lookUp(quoted jsontext.Value) (field, bool) {
	if f, ok := fieldByName[string(quoted)]; ok {
		return f, true
	}
	if bytes.IndexByte(quoted, '\\') < 0 {
		return 0, false
	}
	name, err := parseText[string](quoted)
	f, ok := fieldByName[`"`+name+`"`]
	return f, ok && err == nil
}

// required is the field's value, or the fault that it is missing.
func required[T any](o *object, f field, parse func(jsontext.Value) (T, error)) T {
	if o.values[f] == nil {
		o.failed(f, errMissing)
	}
	var none T
	return orElse(o, f, parse, none)
}

// orElse is the field's value, or missing when there is none.
func orElse[T any](o *object, f field, parse func(jsontext.Value) (T, error), missing T) T {
	if o.values[f] == nil {
		return missing
	}
	v, err := parse(o.values[f])
	if err != nil {
		o.failed(f, err)
		return missing
	}
	return v
}

// optional is the field's value, or nil when there is none.
func optional[T any](o *object, f field, parse func(jsontext.Value) (T, error)) *T {
	if o.values[f] == nil {
		return nil
	}
	v, err := parse(o.values[f])
	if err != nil {
		o.failed(f, err)
		return nil
	}
	return &v
}
