// Package wide encodes events as a real company's producers would: by writer schemas that
// have the contract's fields and more, 25 in all, of which the meter skips most. A value is
// 700 to 750 bytes, and always the same for the same event.
//
// Start reading at Encoder.Record.
package wide

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/schemas"
	"taximeter/schemas/avro"
	"taximeter/schemas/codec"
	"taximeter/schemas/edge"
	"taximeter/schemas/registry"
)

// fields of every writer schema.
const fields = 25

// least and most bytes of a value, but for rides with a long route.
const least, most = 700, 750

// Encoder makes Kafka records. It belongs to one goroutine.
type Encoder struct {
	ids   [schemas.NumInputs]int
	extra [schemas.NumInputs]int // fields beyond the contract's
	buf   []byte
}

// Register makes the wide schemas known.
func Register(ctx context.Context, r *registry.Client) (*Encoder, error) {
	e := &Encoder{}
	for _, topic := range schemas.Inputs {
		c, ok := avro.Of(topic.String())
		if !ok {
			return nil, fmt.Errorf("topic %s has no contract", topic)
		}
		schema, extra, err := widen(c.Schema)
		if err != nil {
			return nil, fmt.Errorf("contract of %s: %w", topic, err)
		}
		if e.ids[topic], err = r.Register(ctx, c.Subject(), schema); err != nil {
			return nil, err
		}
		e.extra[topic] = extra
	}
	return e, nil
}

// ID is the registry's id of a topic's writer schema.
func (e *Encoder) ID(t schemas.Topic) int { return e.ids[t] }

// extras in the order in which they follow the contract's fields; contexto makes up the size.
var extras = []struct{ name, kind string }{
	{"contexto", `"string"`}, {"rastroId", `"string"`}, {"sessaoId", `"string"`}, {"assinatura", `"string"`},
	{"recebidoEm", `{"type":"long","logicalType":"timestamp-millis"}`}, {"sequencia", `"long"`}, {"versaoApp", `"string"`},
	{"sistema", `"string"`}, {"modelo", `["null","string"]`}, {"rede", `"string"`}, {"operadora", `["null","string"]`},
	{"altitudeM", `["null","double"]`}, {"rumoGraus", `["null","float"]`}, {"bateria", `"int"`}, {"satelites", `"int"`},
}

// widen appends as many of the extras as make 25 fields.
func widen(contract string) (schema string, extra int, err error) {
	var record map[string]any
	if err := json.Unmarshal([]byte(contract), &record); err != nil {
		return "", 0, err
	}
	have, _ := record["fields"].([]any)
	if extra = fields - len(have); extra < 4 || extra > len(extras) {
		return "", 0, fmt.Errorf("%d fields: %d more would be needed", len(have), extra)
	}
	for _, x := range extras[:extra] {
		have = append(have, map[string]any{"name": x.name, "type": json.RawMessage(x.kind)})
	}
	record["fields"] = have
	text, err := json.Marshal(record)
	return string(text), extra, err
}

// Record is the line's Kafka record; its timestamp is the line's append time.
func (e *Encoder) Record(l *edge.Line) (*kgo.Record, error) {
	r := &kgo.Record{Topic: l.Topic.String(), Key: l.RecordKey(), Value: l.Raw, Timestamp: time.UnixMilli(int64(l.AppendedAt))}
	if l.Raw != nil {
		return r, nil
	}
	var err error
	id := e.ids[l.Topic]
	switch {
	case l.Telemetry != nil:
		e.buf, err = codec.AppendTelemetry(e.buf[:0], id, l.Telemetry)
	case l.Ride != nil:
		e.buf, err = codec.AppendRide(e.buf[:0], id, l.Ride)
	case l.Payment != nil:
		e.buf, err = codec.AppendPayment(e.buf[:0], id, l.Payment)
	}
	if err != nil {
		return nil, fmt.Errorf("event %d: %w", l.Number, err)
	}
	e.buf = widenValue(e.buf, e.extra[l.Topic], l)
	r.Value = append([]byte(nil), e.buf...)
	return r, nil
}

// widenValue appends the extra fields, drawn from a hash of the value.
func widenValue(value []byte, extra int, l *edge.Line) []byte {
	h := fnv(value)
	var tail [512]byte
	out := tail[:0]
	for _, x := range extras[1:extra] {
		h = h*6364136223846793005 + 1442695040888963407
		switch x.name {
		case "rastroId":
			out = appendString(out, "00-"+hex(h)+hex(h^0x9e3779b97f4a7c15)+"-"+hex(h>>7)+"-01")
		case "sessaoId":
			out = appendString(out, hex(fnv(l.Key))[:8]+"-"+hex(fnv(l.Key) * 31)[:12])
		case "assinatura":
			out = appendString(out, hex(h)+hex(h*3)+hex(h*5)+hex(h*7))
		case "recebidoEm":
			out = binary.AppendVarint(out, int64(l.AppendedAt)-int64(h%40))
		case "sequencia":
			out = binary.AppendVarint(out, int64(h>>40))
		case "versaoApp":
			out = appendString(out, "7.42."+strconv.Itoa(int(h>>60))+"-build.20871")
		case "sistema":
			out = appendString(out, "Android 15 (API 35)")
		case "modelo":
			out = appendString(append(out, 2), "SM-A556E/DS")
		case "rede":
			out = appendString(out, [...]string{"4G", "5G", "LTE-A", "wifi"}[h>>62])
		case "operadora":
			out = appendString(append(out, 2), [...]string{"vivo", "claro", "tim", "algar"}[h>>61&3])
		case "altitudeM":
			out = binary.LittleEndian.AppendUint64(append(out, 2), math.Float64bits(float64(h>>54)))
		case "rumoGraus":
			out = binary.LittleEndian.AppendUint32(append(out, 2), math.Float32bits(float32(h%3600)/10))
		case "bateria":
			out = binary.AppendVarint(out, int64(h%100))
		case "satelites":
			out = binary.AppendVarint(out, int64(h%24))
		}
	}
	size := least + int(h%(most-least))
	return append(appendContext(value, max(0, size-len(value)-len(out)-2), h), out...)
}

// appendContext appends a string of n bytes that reads, and compresses, like a header list.
func appendContext(dst []byte, n int, h uint64) []byte {
	dst = binary.AppendVarint(dst, int64(n))
	end := len(dst) + n
	for len(dst) < end {
		for _, part := range [...]string{"origem=app;celula=", ";sinal=-", ";permissao=sempre;precisao=alta;plano=", ";", "fuso=America/Sao_Paulo;idioma=pt-BR;"} {
			dst = append(dst, part...)
			h = h*6364136223846793005 + 1442695040888963407
			dst = strconv.AppendUint(dst, h>>44, 10)
		}
	}
	return dst[:end]
}

func appendString(dst []byte, s string) []byte {
	return append(binary.AppendVarint(dst, int64(len(s))), s...)
}

func hex(h uint64) string {
	const digits = "0123456789abcdef"
	var b [16]byte
	for i := range b {
		b[i] = digits[h>>(4*i)&15]
	}
	return string(b[:])
}

// fnv is FNV-1a, the same in every process.
func fnv(b []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range b {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h
}
