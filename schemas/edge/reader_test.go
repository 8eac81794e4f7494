package edge

import (
	"bytes"
	"compress/gzip"
	"io"
	"math"
	"strings"
	"testing"

	"taximeter/schemas"
)

// one reads a file of one event.
func one(t *testing.T, line string, opts ...Option) *Line {
	t.Helper()
	l, err := NewReader("f", strings.NewReader(line), opts...).Next()
	if err != nil {
		t.Fatalf("%s\n%v", line, err)
	}
	return l
}

const telemetry = `{"topic":"corridas.telemetria","value":{"eventId":"e1","tripId":"t1","motoristaId":"d",` +
	`"ocorridoEm":1764000000123,"latitude":-23.5613402,"longitude":-46.6560123,"velocidadeKmh":34.5,"retifica":null}}`

func TestWholeRecords(t *testing.T) {
	var rec schemas.Record

	one(t, telemetry).Record(&rec)
	want := schemas.Event{Topic: schemas.Telemetry, Kind: schemas.Position, Has: schemas.HasPosition | schemas.HasSpeed,
		TripID: "t1", EventID: "e1", At: 1764000000123, LatLon: schemas.LatLon{Lat: -23.5613402, Lon: -46.6560123}, SpeedKmh: 34.5}
	same(t, rec.Event, want)
	if rec.AppendedAt != schemas.NoTime || rec.Key != nil || rec.Fault != schemas.Counted {
		t.Errorf("record %+v", rec)
	}
	if v := string(rec.Value); !strings.HasPrefix(v, `{"eventId":"e1"`) || !strings.HasSuffix(v, `"retifica":null}`) {
		t.Errorf("value bytes %s", v)
	}

	one(t, `{"key":"t2","appendedAt":"2025-11-24T16:00:00.5-03:00","topic":"corridas.eventos","value":{"eventId":"e","tripId":"t2",`+
		`"ocorridoEm":"2025-11-24T19:00:00Z","tipo":"MATCH","regiao":"sp","categoria":"","multiplicador":"1.250","latitude":1,"longitude":2,`+
		`"nota":5,"rotaPrevista":[{"latitude":1,"longitude":2}],"retifica":"x"}}`).Record(&rec)
	same(t, rec.Event, schemas.Event{Topic: schemas.Rides, Kind: schemas.RideMatch, TripID: "t2", EventID: "e", Rectifies: "x", At: 1764010800000,
		Has:    schemas.HasPosition | schemas.HasRegion | schemas.HasCategory | schemas.HasMultiplier | schemas.HasRoute,
		LatLon: schemas.LatLon{Lat: 1, Lon: 2},
		Ride:   schemas.RideDetail{Region: "sp", Multiplier: 1250, Route: []schemas.LatLon{{Lat: 1, Lon: 2}}}})
	if rec.AppendedAt != 1764010800500 || string(rec.Key) != "t2" {
		t.Errorf("appended at %d, key %s", rec.AppendedAt, rec.Key)
	}

	one(t, `{"topic":"pagamentos.eventos","value":{"eventId":"e","tripId":"t","ocorridoEm":1764010800000,"tipo":"CAPTURA","valor":12.5,"moeda":"BRL","meio":"PIX"}}`).Record(&rec)
	same(t, rec.Event, schemas.Event{Topic: schemas.Payments, Kind: schemas.PayCapture, TripID: "t", EventID: "e", At: 1764010800000,
		Payment: schemas.PaymentDetail{Amount: 1250, Currency: "BRL", Means: "PIX"}})
}

func TestInstantsAsRFC3339HasThem(t *testing.T) {
	const ms = 1764000000000
	for text, want := range map[string]schemas.Millis{
		"2025-11-24T16:00:00Z":           ms,
		"2025-11-24t16:00:00z":           ms,
		"2025-11-24t13:00:00.5-03:00":    ms + 500,
		"2025-11-24T16:00:00.999999999Z": ms + 999,
	} {
		var rec schemas.Record
		one(t, `{"topic":"corridas.telemetria","appendedAt":"`+text+`","value":{"ocorridoEm":"`+text+`"}}`).Record(&rec)
		if rec.At != want || rec.AppendedAt != want || rec.Detail != "" {
			t.Errorf("%s is %d and %d, want %d: %s", text, rec.At, rec.AppendedAt, want, rec.Detail)
		}
	}
}

func TestWhatIsMissingIsLeftToTheChecks(t *testing.T) {
	var rec schemas.Record
	one(t, `{"topic":"corridas.telemetria","value":{}}`).Record(&rec)
	if rec.Fault != schemas.Counted || rec.TripID != "" || rec.At != 0 || !math.IsNaN(rec.Lat) || !math.IsNaN(rec.Lon) || rec.Has != schemas.HasPosition {
		t.Errorf("%+v", rec)
	}
	l := one(t, `{"topic":"corridas.eventos","value":{"latitude":1}}`)
	l.Record(&rec)
	if rec.Fault != schemas.Counted || rec.Kind != schemas.KindUnknown || l.Ride.Kind != "DESCONHECIDO" || rec.Has != 0 {
		t.Errorf("%+v", rec)
	}
	l = one(t, `{"topic":"corridas.eventos","value":{"tipo":"TELEPORTE","novo":[1,{"a":2}]}}`)
	l.Record(&rec)
	if rec.Fault != schemas.Counted || rec.Kind != schemas.KindUnknown || l.Ride.Kind != "TELEPORTE" {
		t.Errorf("%+v", rec)
	}
}

func TestABadValueIsDataAndNamesItsField(t *testing.T) {
	for _, c := range []struct{ topic, value, detail string }{
		{"corridas.telemetria", `7`, `must be an object, not 7`},
		{"pagamentos.eventos", `[]`, `must be an object, not []`},
		{"corridas.telemetria", `{"tripId":7}`, `tripId: must be a string, not 7`},
		{"corridas.telemetria", `{"latitude":"-23.5"}`, `latitude: must be a number, not "-23.5"`},
		{"corridas.telemetria", `{"latitude":1e999}`, `latitude: number out of range: 1e999`},
		{"corridas.telemetria", `{"velocidadeKmh":1e39}`, `velocidadeKmh: number out of range: 1e39`},
		{"corridas.telemetria", `{"ocorridoEm":1.5}`, `ocorridoEm: not whole epoch milliseconds: 1.5`},
		{"corridas.telemetria", `{"ocorridoEm":9223372036854775808}`, `ocorridoEm: not whole epoch milliseconds: 9223372036854775808`},
		{"corridas.telemetria", `{"ocorridoEm":"2025-11-24"}`, `ocorridoEm: neither epoch milliseconds nor RFC 3339 (such as 2025-11-24T13:20:00.123Z): "2025-11-24"`},
		{"corridas.telemetria", `{"ocorridoEm":true}`, `ocorridoEm: must be epoch milliseconds or an RFC 3339 string, not true`},
		{"corridas.eventos", `{"multiplicador":"1.0001"}`, `multiplicador: not a decimal with at most 3 places: "1.0001"`},
		{"corridas.eventos", `{"multiplicador":1e0}`, `multiplicador: not a decimal: "1e0"`},
		{"corridas.eventos", `{"nota":4.5}`, `nota: not a whole number of 32 bits: 4.5`},
		{"corridas.eventos", `{"tipo":3}`, `tipo: must be a string, not 3`},
		{"corridas.eventos", `{"rotaPrevista":[{"latitude":1,"longitude":1},{"latitude":1}]}`, `rotaPrevista: point 1: longitude: missing`},
		{"corridas.eventos", `{"rotaPrevista":{}}`, `rotaPrevista: must be an array of {latitude, longitude}, not {}`},
		{"corridas.eventos", `{"rotaPrevista":[3]}`, `rotaPrevista: point 0: must be an object, not 3`},
		{"pagamentos.eventos", `{}`, `valor: missing`},
		{"pagamentos.eventos", `{"valor":null}`, `valor: missing`},
		{"pagamentos.eventos", `{"valor":"10000000000.00"}`, `valor: not a decimal in range: "10000000000.00"`},
		{"pagamentos.eventos", `{"valor":"1.00","fatura":{"versao":1}}`, `fatura: distanciaMM: missing`},
		{"pagamentos.eventos", `{"valor":"1.00","retifica":1}`, `retifica: must be a string, not 1`},
	} {
		l := one(t, `{"topic":"`+c.topic+`","value":`+c.value+`}`)
		if l.Fault != schemas.DLQUnreadable || l.Detail != c.detail {
			t.Errorf("%s: %v %q, want %q", c.value, l.Fault, l.Detail, c.detail)
		}
		var rec schemas.Record
		l.Record(&rec)
		if rec.Fault != l.Fault || rec.Detail != l.Detail || string(rec.Value) != c.value || rec.Topic != l.Topic {
			t.Errorf("%s: record %+v", c.value, rec)
		}
	}
}

func TestTheLastOfTwoMembersWins(t *testing.T) {
	l := one(t, `{"topic":"corridas.telemetria","value":3,"value":{"valor":"x","valor":"1.00","trip\u0049d":"t"},"topic":"pagamentos.eventos"}`)
	if l.Fault != schemas.Counted || l.Payment == nil || l.Payment.Amount != 100 || l.Payment.TripID != "t" {
		t.Errorf("%+v", l)
	}
	if l := one(t, `{"topic":"pagamentos.eventos","value":{"valor":"1.00","valor":null}}`); l.Detail != "valor: missing" {
		t.Errorf("%+v", l)
	}
}

func TestAFaultKeepsWhatWasReadable(t *testing.T) {
	var rec schemas.Record
	one(t, `{"topic":"pagamentos.eventos","value":{"valor":"x","tripId":"t","eventId":"e"}}`).Record(&rec)
	if rec.TripID != "t" || rec.EventID != "e" || rec.Fault != schemas.DLQUnreadable {
		t.Errorf("%+v", rec)
	}
}

func TestABadLineStopsTheRunAndSaysWhere(t *testing.T) {
	for line, want := range map[string]string{
		`{"topic":"corridas.telemetria","value":{}`:    `f:3: not valid JSON: the line is cut short; write one whole event a line`,
		`{"topic":"corridas.telemetria","value":{]}`:   `f:3: not valid JSON at byte 41 of the line: invalid character ']' at start of string (expecting '"')`,
		`{"topic":"corridas.telemetria","value":{}}{}`: `f:3: something follows the event: one event a line`,
		`[]`:                                `f:3: not an event but []; write {"topic":...,"value":{...}}`,
		`{"value":{}}`:                      `f:3: topic: missing`,
		`{"topic":"corridas.x","value":{}}`: `f:3: unknown topic "corridas.x"; events are of corridas.telemetria, corridas.eventos or pagamentos.eventos`,
		`{"topic":7,"value":{}}`:            `f:3: topic: must be a string, not 7`,
		`{"topic":"corridas.telemetria"}`:   `f:3: neither "value" (the record) nor "raw" (base64 of a Kafka value); give one of them`,
		`{"topic":"corridas.telemetria","value":null}`:                   `f:3: neither "value" (the record) nor "raw" (base64 of a Kafka value); give one of them`,
		`{"topic":"corridas.telemetria","value":{},"raw":""}`:            `f:3: both "value" and "raw"; leave one of them out`,
		`{"topic":"corridas.telemetria","raw":"A"}`:                      `f:3: raw: not standard base64 with padding: "A"`,
		`{"topic":"corridas.telemetria","value":{},"key":1}`:             `f:3: key: must be a string, not 1`,
		`{"topic":"corridas.telemetria","value":{},"appendedAt":"soon"}`: `f:3: appendedAt: neither epoch milliseconds nor RFC 3339 (such as 2025-11-24T13:20:00.123Z): "soon"`,
		"{\"topic\":\"corridas.telemetria\",\"value\":{\"x\":\"\xff\"}}": `f:3: not UTF-8; save the file as UTF-8`,
	} {
		r := NewReader("f", strings.NewReader(telemetry+"\n\r\n"+line+"\n"+telemetry+"\n"))
		if l, err := r.Next(); err != nil || l.Number != 1 {
			t.Fatal(err)
		}
		for range 2 { // and it stays so
			if _, err := r.Next(); err == nil || err.Error() != want {
				t.Errorf("%s\n got %v\nwant %s", line, err, want)
			}
		}
	}
}

func TestLinesLongerThanTheBufferAndThanTheLimit(t *testing.T) {
	long := func(n int) string {
		const head, tail = `{"topic":"corridas.telemetria","value":{"x":"`, `"}}`
		return head + strings.Repeat("a", n-len(head)-len(tail)) + tail
	}
	r := NewReader("f", strings.NewReader("\xef\xbb\xbf"+long(1<<20)+"\n"+telemetry+"\n"+long(MaxLine)+"\n"+long(MaxLine+1)))
	for n := 1; n <= 3; n++ {
		if l, err := r.Next(); err != nil || l.Number != n {
			t.Fatal(n, err)
		}
	}
	if _, err := r.Next(); err == nil || err.Error() != "f:4: line longer than 16 MiB; write one event a line" {
		t.Fatal(err)
	}
}

func TestGzipIsKnownByItsBytes(t *testing.T) {
	var packed bytes.Buffer
	for range 2 { // two members, as `cat a.gz b.gz` makes
		z := gzip.NewWriter(&packed)
		if _, err := io.WriteString(z, strings.Repeat(telemetry+"\n", 5)); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
	}
	count := func(packed []byte) (n int, err error) {
		r := NewReader("f", bytes.NewReader(packed))
		for {
			if _, err = r.Next(); err != nil {
				return n, err
			}
			n++
		}
	}
	if n, err := count(packed.Bytes()); n != 10 || err != io.EOF {
		t.Fatal(n, err)
	}
	if n, err := count(packed.Bytes()[:packed.Len()-9]); err == nil || !strings.Contains(err.Error(), "cut short") {
		t.Fatal(n, err)
	}
	if n, err := count(nil); n != 0 || err != io.EOF {
		t.Fatal(n, err)
	}
}

func TestRawValues(t *testing.T) {
	const line = `{"topic":"corridas.eventos","key":"","raw":"AAAAAAE="}`
	var rec schemas.Record
	one(t, line).Record(&rec)
	if rec.Fault != schemas.DLQUnreadable || string(rec.Value) != "\x00\x00\x00\x00\x01" || rec.Key == nil || rec.Topic != schemas.Rides {
		t.Errorf("%+v", rec)
	}
	one(t, line, WithRawDecoder(func(topic schemas.Topic, value []byte, e *schemas.Event) (schemas.Verdict, string) {
		e.TripID = schemas.TripID(value[4:])
		return schemas.Counted, ""
	})).Record(&rec)
	if rec.Fault != schemas.Counted || rec.TripID != "\x01" || rec.Topic != schemas.Rides || rec.Detail != "" {
		t.Errorf("%+v", rec)
	}
}
