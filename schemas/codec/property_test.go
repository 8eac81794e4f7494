package codec

import (
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"strings"
	"testing"

	hamba "github.com/hamba/avro/v2"
	twmb "github.com/twmb/avro"
	"pgregory.net/rapid"

	"taximeter/schemas"
)

func stripLogical(schema string) string {
	return strings.ReplaceAll(schema, `"logicalType"`, `"semTipoLogico"`)
}

// The plan and two other libraries, one of them on its own reading of the schema, must
// see the same event in the same bytes, for any writer.
func TestPlanAgreesWithOtherDecoders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		topic := rapid.SampledFrom(schemas.Inputs[:]).Draw(t, "topic")
		writer := variant(t, topic)
		d := NewDecoder()
		if err := d.Learn(topic, 1, writer.text(withLogical)); err != nil {
			t.Fatalf("writer %s: %v", writer.text(withLogical), err)
		}
		value := writer.write(t, appendFrame(nil, 1))
		var got schemas.Event
		gotErr := d.Decode(topic, value, &got)

		var byTwmb map[string]any
		if rest, err := twmb.MustParse(writer.text(withoutLogical)).Decode(value[frameLen:], &byTwmb); err != nil || len(rest) > 0 {
			t.Fatalf("twmb: %v, %d bytes left", err, len(rest))
		}
		want, wantErr := expect(topic, writer, byTwmb)
		compareEvents(t, "twmb", got, gotErr, want, wantErr)

		s, err := hamba.ParseWithCache(writer.text(withoutLogical), "", &hamba.SchemaCache{})
		if err != nil {
			t.Fatalf("hamba: %v", err)
		}
		var byHamba map[string]any
		if err := hamba.Unmarshal(s, value[frameLen:], &byHamba); err != nil {
			t.Fatalf("hamba: %v", err)
		}
		want, wantErr = expect(topic, writer, byHamba)
		compareEvents(t, "hamba", got, gotErr, want, wantErr)
	})
}

func compareEvents(t *rapid.T, by string, got schemas.Event, gotErr error, want schemas.Event, wantErr error) {
	if !errors.Is(gotErr, wantErr) || (gotErr == nil) != (wantErr == nil) {
		t.Fatalf("error %v, by %s %v", gotErr, by, wantErr)
	}
	if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) || (got.Ride.Route == nil) != (want.Ride.Route == nil) {
		t.Fatalf("event %+v, by %s %+v", got, by, want)
	}
}

// expect says what the contract makes of a record decoded generically: the event, or the
// refusal. The first field at fault in the writer's order decides.
func expect(topic schemas.Topic, writer avroType, rec map[string]any) (schemas.Event, error) {
	ev := schemas.Event{Topic: topic}
	if topic == schemas.Telemetry {
		ev.Kind = schemas.Position
	}
	lat, lon, nullPoint := false, false, false
	for _, f := range writer.schema.(map[string]any)["fields"].([]any) {
		name, typ := f.(map[string]any)["name"].(string), f.(map[string]any)["type"]
		v, union := rec[name], false
		if branches, ok := typ.([]any); ok {
			typ, union = branches, true
		}
		if union { // one library names the branch
			if m, ok := v.(map[string]any); ok && len(m) == 1 {
				for _, inner := range m {
					v = inner
				}
			}
		}
		read := map[string]func(){
			"eventId":       func() { ev.EventID = schemas.EventID(asText(v)) },
			"tripId":        func() { ev.TripID = schemas.TripID(asText(v)) },
			"retifica":      func() { ev.Rectifies = schemas.EventID(asText(v)) },
			"ocorridoEm":    func() { ev.At = schemas.Millis(reflect.ValueOf(v).Int()) },
			"latitude":      func() { ev.Lat, lat = asReal(v), true },
			"longitude":     func() { ev.Lon, lon = asReal(v), true },
			"velocidadeKmh": func() { ev.SpeedKmh, ev.Has = asReal(v), ev.Has|schemas.HasSpeed },
			"tipo":          func() { ev.Kind = schemas.KindOf(topic, v.(string)) },
			"regiao":        func() { ev.Ride.Region, ev.Has = asText(v), ev.Has|schemas.HasRegion },
			"categoria":     func() { ev.Ride.Category, ev.Has = asText(v), ev.Has|schemas.HasCategory },
			"moeda":         func() { ev.Payment.Currency = asText(v) },
			"meio":          func() { ev.Payment.Means = asText(v) },
			"multiplicador": func() { ev.Has |= schemas.HasMultiplier },
			"valor":         func() {},
			"rotaPrevista": func() {
				ev.Ride.Route, ev.Has = []schemas.LatLon{}, ev.Has|schemas.HasRoute
				for _, p := range v.([]any) {
					m, ok := p.(map[string]any)
					if !ok || m["latitude"] == nil || m["longitude"] == nil {
						nullPoint = true
						return
					}
					ev.Ride.Route = append(ev.Ride.Route, schemas.LatLon{Lat: asReal(m["latitude"]), Lon: asReal(m["longitude"])})
				}
			},
		}[name]
		if topic != schemas.Telemetry && name == "velocidadeKmh" || read == nil {
			continue
		}
		if v == nil {
			if name == "tipo" || name == "valor" || name == "moeda" {
				return schemas.Event{Topic: topic}, ErrNull
			}
			continue
		}
		if _, unfit := v.(bool); unfit {
			return schemas.Event{Topic: topic}, ErrBranch
		}
		read()
		if nullPoint {
			return schemas.Event{Topic: topic}, ErrNull
		}
		fits := true
		switch name {
		case "multiplicador":
			var x int64
			x, fits = exactly(v, decimalScale(typ), schemas.MilsScale, int64(schemas.MaxMils))
			ev.Ride.Multiplier = schemas.Mils(x)
		case "valor":
			var x int64
			x, fits = exactly(v, decimalScale(typ), schemas.CentsScale, int64(schemas.MaxCents))
			ev.Payment.Amount = schemas.Cents(x)
		}
		if !fits {
			return schemas.Event{Topic: topic}, ErrDecimal
		}
	}
	if lat && lon {
		ev.Has |= schemas.HasPosition
	} else {
		ev.LatLon = schemas.LatLon{}
	}
	return ev, nil
}

func decimalScale(typ any) int {
	if branches, ok := typ.([]any); ok {
		for _, br := range branches {
			if m, ok := br.(map[string]any); ok {
				typ = m
			}
		}
	}
	return int(asReal(typ.(map[string]any)["scale"])) // written here or parsed
}

// exactly is unscaled/10^from as an integer of 10^-to, by rational arithmetic.
func exactly(v any, from, to int, max int64) (int64, bool) {
	raw := []byte(asText(v))
	if len(raw) == 0 {
		return 0, false
	}
	n := new(big.Int).SetBytes(raw)
	if raw[0] >= 0x80 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(raw))))
	}
	pow := func(e int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(e)), nil) }
	r := new(big.Rat).SetFrac(n.Mul(n, pow(to)), pow(from))
	if !r.IsInt() || new(big.Int).Abs(r.Num()).Cmp(big.NewInt(max)) > 0 {
		return 0, false
	}
	return r.Num().Int64(), true
}

func asText(v any) string {
	rv := reflect.ValueOf(v)
	switch rv.Kind() {
	case reflect.String:
		return rv.String()
	case reflect.Slice:
		return string(rv.Bytes())
	}
	b := make([]byte, rv.Len()) // an array of bytes: fixed
	for i := range b {
		b[i] = byte(rv.Index(i).Uint())
	}
	return string(b)
}

func asReal(v any) float64 {
	if rv := reflect.ValueOf(v); rv.CanInt() {
		return float64(rv.Int())
	}
	return reflect.ValueOf(v).Float()
}
