package codec

import (
	"fmt"
	"strings"
	"testing"

	hamba "github.com/hamba/avro/v2"
	twmb "github.com/twmb/avro"

	"taximeter/schemas"
	"taximeter/schemas/avro"
)

// wideTelemetry is a telemetry writer of 25 fields, as grown fleets have: the contract's
// ten among fifteen that the meter does not read. It gives the schema and a framed value.
func wideTelemetry(tb testing.TB) (string, []byte) {
	var fields []string
	datum := map[string]any{}
	add := func(name, typ string, v any) {
		fields = append(fields, fmt.Sprintf(`{"name":%q,"type":%s}`, name, typ))
		datum[name] = v
	}
	text := func(n int) string { return strings.Repeat("abcdefghijklmnopqrstuvwxyz", n/26+1)[:n] }
	add("versaoApp", `"string"`, "passageiro-android/12.4.1")
	add("eventId", `"string"`, "0190c1e2-7b1c-7f3a-9d2e-5a4b3c2d1e0f")
	add("tripId", `"string"`, "0190c1e2-0000-7f3a-9d2e-5a4b3c2d1e0f")
	add("motoristaId", `"string"`, text(64))
	add("veiculoId", `"string"`, text(36))
	add("placaHash", `"string"`, text(64))
	add("ocorridoEm", `{"type":"long","logicalType":"timestamp-millis"}`, int64(1_750_000_000_000))
	add("recebidoEm", `["null",{"type":"long","logicalType":"timestamp-millis"}]`, int64(1_750_000_000_500))
	add("latitude", `"double"`, -23.5505)
	add("longitude", `"double"`, -46.6333)
	add("altitudeM", `["null","double"]`, 760.5)
	add("velocidadeKmh", `["null","float"]`, float32(42.5))
	add("rumoGraus", `["null","float"]`, float32(181.5))
	add("precisaoM", `["null","float"]`, float32(6.5))
	add("dispositivo", `["null","string"]`, text(24))
	add("sistema", `["null","string"]`, text(40))
	add("operadora", `["null","string"]`, text(20))
	add("rede", `{"type":"enum","name":"Rede","symbols":["WIFI","G4","G5"]}`, "G5")
	add("bateria", `["null","int"]`, int32(81))
	add("satelites", `"int"`, int32(11))
	add("sinais", `{"type":"array","items":"int"}`, []any{int32(-70), int32(-80), int32(-91), int32(-99)})
	add("rotulos", `{"type":"map","values":"string"}`, map[string]any{"frota": text(40), "turno": text(30)})
	add("assinatura", `"bytes"`, []byte(text(64)))
	add("observacao", `["null","string"]`, text(90))
	add("retifica", `["null","string"]`, nil)
	schema := `{"type":"record","name":"Telemetria","namespace":"br.frota","fields":[` + strings.Join(fields, ",") + `]}`
	return schema, encode(tb, schema, 7, datum)
}

// encode writes a datum with the other Avro library, framed.
func encode(tb testing.TB, schema string, id int, datum any) []byte {
	tb.Helper()
	s, err := twmb.Parse(schema)
	if err != nil {
		tb.Fatal(err)
	}
	b, err := s.AppendEncode(appendFrame(nil, id), datum)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func TestDecodeTelemetryDoesNotAllocate(t *testing.T) {
	schema, value := wideTelemetry(t)
	d := NewDecoder()
	if err := d.Learn(schemas.Telemetry, 7, schema); err != nil {
		t.Fatal(err)
	}
	var ev schemas.Event
	allocs := testing.AllocsPerRun(100, func() {
		if err := d.Decode(schemas.Telemetry, value, &ev); err != nil {
			t.Fatal(err)
		}
	})
	if allocs != 0 || ev.SpeedKmh != 42.5 {
		t.Errorf("%v allocations, event %+v", allocs, ev)
	}
}

func BenchmarkDecodeTelemetry(b *testing.B) {
	wide, wideValue := wideTelemetry(b)
	speed := float32(42.5)
	plainValue, err := AppendTelemetry(nil, 7, &schemas.TelemetryRecord{
		EventID: "0190c1e2-7b1c-7f3a-9d2e-5a4b3c2d1e0f", TripID: "0190c1e2-0000-7f3a-9d2e-5a4b3c2d1e0f",
		DriverID: strings.Repeat("a", 64), At: 1_750_000_000_000, Lat: -23.5505, Lon: -46.6333, SpeedKmh: &speed,
	})
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name, schema string
		value        []byte
	}{{"contract", avro.Telemetria, plainValue}, {"25fields", wide, wideValue}} {
		b.Run(c.name+"/plan", func(b *testing.B) {
			d := NewDecoder()
			if err := d.Learn(schemas.Telemetry, 7, c.schema); err != nil {
				b.Fatal(err)
			}
			var ev schemas.Event
			b.SetBytes(int64(len(c.value)))
			b.ReportAllocs()
			for b.Loop() {
				if err := d.Decode(schemas.Telemetry, c.value, &ev); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(c.name+"/record", func(b *testing.B) {
			r := NewTelemetryReader()
			if err := r.Learn(7, c.schema); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(c.value)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := r.Decode(c.value); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(c.name+"/hamba", func(b *testing.B) {
			s, err := hamba.ParseWithCache(c.schema, "", &hamba.SchemaCache{})
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(c.value)))
			b.ReportAllocs()
			for b.Loop() {
				var got struct {
					EventID string   `avro:"eventId"`
					TripID  string   `avro:"tripId"`
					At      int64    `avro:"ocorridoEm"`
					Lat     float64  `avro:"latitude"`
					Lon     float64  `avro:"longitude"`
					Speed   *float32 `avro:"velocidadeKmh"`
				}
				if err := hamba.Unmarshal(s, c.value[frameLen:], &got); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
