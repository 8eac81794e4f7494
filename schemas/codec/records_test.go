package codec

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"testing"

	twmb "github.com/twmb/avro"
	"pgregory.net/rapid"

	"taximeter/schemas"
	"taximeter/schemas/avro"
)

// Random records of the contracts.

func opt[T any](g *rapid.Generator[T]) *rapid.Generator[*T] { return rapid.Ptr(g, true) }

func texts() *rapid.Generator[string] { return rapid.StringN(0, 12, -1) }

func millis() *rapid.Generator[schemas.Millis] {
	return rapid.Map(rapid.Int64(), func(v int64) schemas.Millis { return schemas.Millis(v) })
}

func ids() *rapid.Generator[schemas.EventID] {
	return rapid.Map(texts(), func(s string) schemas.EventID { return schemas.EventID(s) })
}

func within[T ~int64](max T) *rapid.Generator[T] {
	return rapid.Map(rapid.Int64Range(-int64(max), int64(max)), func(v int64) T { return T(v) })
}

func drawTelemetry(t *rapid.T) schemas.TelemetryRecord {
	return schemas.TelemetryRecord{
		EventID: ids().Draw(t, "eventId"), TripID: schemas.TripID(texts().Draw(t, "tripId")), DriverID: texts().Draw(t, "driver"),
		At: millis().Draw(t, "at"), Lat: rapid.Float64().Draw(t, "lat"), Lon: rapid.Float64().Draw(t, "lon"),
		SpeedKmh: opt(rapid.Float32()).Draw(t, "speed"), PrecisionM: opt(rapid.Float32()).Draw(t, "precision"),
		Device: opt(texts()).Draw(t, "device"), Rectifies: opt(ids()).Draw(t, "rectifies"),
	}
}

func drawRide(t *rapid.T) schemas.RideRecord {
	r := schemas.RideRecord{
		EventID: ids().Draw(t, "eventId"), TripID: schemas.TripID(texts().Draw(t, "tripId")), At: millis().Draw(t, "at"),
		Kind: rapid.SampledFrom(rideSymbols).Draw(t, "kind"), PassengerID: opt(texts()).Draw(t, "passenger"),
		DriverID: opt(texts()).Draw(t, "driver"), Region: opt(texts()).Draw(t, "region"), Category: opt(texts()).Draw(t, "category"),
		Multiplier: opt(within(schemas.MaxMils)).Draw(t, "multiplier"), Lat: opt(rapid.Float64()).Draw(t, "lat"),
		Lon: opt(rapid.Float64()).Draw(t, "lon"), Rating: opt(rapid.Int32()).Draw(t, "rating"), Rectifies: opt(ids()).Draw(t, "rectifies"),
	}
	if rapid.Bool().Draw(t, "route") {
		r.Route = rapid.SliceOfN(rapid.Make[schemas.LatLon](), 0, 5).Draw(t, "points")
	}
	return r
}

func drawPayment(t *rapid.T) schemas.PaymentRecord {
	bill := rapid.Custom(func(t *rapid.T) schemas.BillRecord {
		return schemas.BillRecord{
			Version: rapid.Int32().Draw(t, "version"), DistanceMM: rapid.Int64().Draw(t, "distance"), DurationS: rapid.Int64().Draw(t, "duration"),
			TariffID: texts().Draw(t, "tariff"), Region: texts().Draw(t, "region"), Category: texts().Draw(t, "category"),
			Multiplier: within(schemas.MaxMils).Draw(t, "multiplier"), Start: millis().Draw(t, "start"), End: millis().Draw(t, "end"),
			Points: rapid.Int32().Draw(t, "points"), Rejected: rapid.Int32().Draw(t, "rejected"), Rectification: rapid.Bool().Draw(t, "rectification"),
			Motive: opt(texts()).Draw(t, "motive"), Difference: opt(within(schemas.MaxCents)).Draw(t, "difference"),
			CheckpointID: rapid.Int64().Draw(t, "checkpoint"),
		}
	})
	return schemas.PaymentRecord{
		EventID: ids().Draw(t, "eventId"), TripID: schemas.TripID(texts().Draw(t, "tripId")), At: millis().Draw(t, "at"),
		Kind: rapid.SampledFrom(paymentSymbols).Draw(t, "kind"), Amount: within(schemas.MaxCents).Draw(t, "amount"),
		Currency: texts().Draw(t, "currency"), Means: opt(texts()).Draw(t, "means"), CardID: opt(texts()).Draw(t, "card"),
		Rectifies: opt(ids()).Draw(t, "rectifies"), Bill: opt(bill).Draw(t, "bill"),
	}
}

func drawTariff(t *rapid.T) schemas.Tariff {
	price := within(schemas.MaxMicros)
	return schemas.Tariff{
		TariffID: texts().Draw(t, "tariff"), Region: texts().Draw(t, "region"), Category: texts().Draw(t, "category"),
		ValidFrom: millis().Draw(t, "from"), Currency: texts().Draw(t, "currency"), Base: price.Draw(t, "base"),
		PerKm: price.Draw(t, "km"), PerMin: price.Draw(t, "min"), Minimum: price.Draw(t, "minimum"),
		CancelFee: price.Draw(t, "cancel"), GraceS: int(rapid.Int32().Draw(t, "grace")),
	}
}

func drawRule(t *rapid.T) schemas.Rule {
	r := schemas.Rule{
		RuleID: texts().Draw(t, "rule"), Version: int(rapid.Int32().Draw(t, "version")), Kind: texts().Draw(t, "kind"),
		Active: rapid.Bool().Draw(t, "active"), ValidFrom: millis().Draw(t, "from"),
		Params: rapid.MapOfN(texts(), texts(), 0, 4).Draw(t, "params"),
	}
	if rapid.Bool().Draw(t, "some") {
		r.Regions = rapid.SliceOfN(texts(), 0, 3).Draw(t, "regions")
		r.Categories = rapid.SliceOfN(texts(), 1, 3).Draw(t, "categories")
	}
	return r
}

// What is written is read back as it was, by the contract's field names, and another
// library writes the same bytes for what it reads in them.
func TestRecordsRoundTrip(t *testing.T) {
	t.Run("telemetry", roundTrip(avro.Telemetria, drawTelemetry, AppendTelemetry, NewTelemetryReader()))
	t.Run("ride", roundTrip(avro.EventoCorrida, drawRide, AppendRide, NewRideReader()))
	t.Run("payment", roundTrip(avro.EventoPagamento, drawPayment, AppendPayment, NewPaymentReader()))
	t.Run("tariff", roundTrip(avro.Tarifa, drawTariff, AppendTariff, NewTariffReader()))
	t.Run("rule", roundTrip(avro.Regra, drawRule, AppendRule, NewRuleReader()))
}

func roundTrip[T any](schema string, draw func(*rapid.T) T, write func([]byte, int, *T) ([]byte, error), reader *Reader[T]) func(*testing.T) {
	return func(t *testing.T) {
		if err := reader.Learn(5, schema); err != nil {
			t.Fatal(err)
		}
		plain := twmb.MustParse(stripLogical(schema))
		rapid.Check(t, func(t *rapid.T) {
			rec := draw(t)
			value, err := write([]byte("before"), 5, &rec)
			if err != nil || !bytes.HasPrefix(value, []byte("before")) {
				t.Fatalf("%+v: %v", rec, err)
			}
			value = bytes.TrimPrefix(value, []byte("before"))
			got, err := reader.Decode(value)
			if err != nil || !reflect.DeepEqual(got, rec) {
				t.Fatalf("wrote %+v, read %+v, %v", rec, got, err)
			}
			var generic map[string]any
			rest, err := plain.Decode(value[frameLen:], &generic)
			if err != nil || len(rest) > 0 {
				t.Fatalf("twmb: %v, %d bytes left", err, len(rest))
			}
			again, err := plain.AppendEncode(appendFrame(nil, 5), generic)
			params, _ := generic["parametros"].(map[string]any) // the order of several is theirs
			if err != nil || len(params) < 2 && !bytes.Equal(again, value) {
				t.Fatalf("%v\nours %x\ntwmb %x", err, value, again)
			}
		})
	}
}

func decodeGeneric(t *testing.T, schema string, value []byte) map[string]any {
	t.Helper()
	var generic map[string]any
	if rest, err := twmb.MustParse(stripLogical(schema)).Decode(value[frameLen:], &generic); err != nil || len(rest) > 0 {
		t.Fatalf("twmb: %v, %d bytes left", err, len(rest))
	}
	return generic
}

func TestAppendBill(t *testing.T) {
	bill := schemas.Bill{
		TripID: "t1", EventID: schemas.BillEventID("t1", 2), Version: 2, Amount: 2550, Difference: -100, Currency: "BRL", DistanceMM: 5_000_000,
		DurationS: 600, TariffID: "sp-1", Region: "SP", Category: "X", Multiplier: 1250, Start: 1_000, End: 601_000,
		Points: 121, Rejected: 3, Rectification: true, Motive: schemas.MotiveNoStartSeen,
	}
	reader := NewPaymentReader()
	if err := reader.Learn(5, avro.EventoPagamento); err != nil {
		t.Fatal(err)
	}
	value, err := AppendBill(nil, 5, &bill, 77)
	if err != nil {
		t.Fatal(err)
	}
	got, err := reader.Decode(value)
	want := schemas.PaymentRecord{
		EventID: "t1", TripID: "t1", At: 601_000, Kind: "FATURA", Amount: 2550, Currency: "BRL",
		Bill: &schemas.BillRecord{
			Version: 2, DistanceMM: 5_000_000, DurationS: 600, TariffID: "sp-1", Region: "SP", Category: "X", Multiplier: 1250,
			Start: 1_000, End: 601_000, Points: 121, Rejected: 3, Rectification: true,
			Motive: ptr("inicio_inferido"), Difference: ptr(schemas.Cents(-100)), CheckpointID: 77,
		},
	}
	want.EventID = bill.EventID
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v %+v, %v", got, got.Bill, err)
	}

	bill.Version, bill.Motive = 1, schemas.MotiveNone
	if value, err = AppendBill(nil, 5, &bill, 77); err != nil {
		t.Fatal(err)
	}
	if got, err = reader.Decode(value); err != nil || got.Bill.Difference != nil || got.Bill.Motive != nil {
		t.Errorf("first version: %+v, %v", got.Bill, err)
	}
}

func TestAppendWindowAndAlert(t *testing.T) {
	window := schemas.Window{
		TripID: "t", Start: 300_000, Version: 2, Points: 60, Rejected: 1, DistanceMM: 123_456, TimeMS: 295_000,
		MaxKmh: ptr(61.5), First: ptr(schemas.Millis(300_001)), Verdict: schemas.Rectified,
	}
	value, err := AppendWindow(nil, 5, &window, 77)
	if err != nil {
		t.Fatal(err)
	}
	got := decodeGeneric(t, avro.AgregadoJanela, value)
	want := map[string]any{
		"tripId": "t", "janelaInicio": int64(300_000), "versao": int32(2), "pontos": int32(60), "descartados": int32(1),
		"distanciaMM": int64(123_456), "tempoMs": int64(295_000), "velocidadeMaxKmh": 61.5, "velocidadeMediaKmh": nil,
		"primeiro": int64(300_001), "ultimo": nil, "veredito": "retificacao", "checkpointId": int64(77),
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("window %v", got)
	}
	window.MaxKmh, window.MeanKmh, window.First, window.Last = nil, ptr(30.25), nil, ptr(schemas.Millis(9))
	if value, err = AppendWindow(nil, 5, &window, 77); err != nil {
		t.Fatal(err)
	}
	if got = decodeGeneric(t, avro.AgregadoJanela, value); got["velocidadeMediaKmh"] != 30.25 || got["ultimo"] != int64(9) || got["primeiro"] != nil {
		t.Errorf("window %v", got)
	}

	alert := schemas.Alert{
		AlertID: "a", RuleID: "r", RuleVersion: 3, Kind: "parada", TripID: "t", Region: "SP", Category: "X", OnsetID: "e",
		OnsetAt: 5, DecidedAt: 6, Details: map[string]string{"b": "2", "a": "1", "c": "3"},
	}
	value, err = AppendAlert(nil, 5, &alert)
	if err != nil {
		t.Fatal(err)
	}
	got = decodeGeneric(t, avro.Alerta, value)
	want = map[string]any{
		"alertId": "a", "regraId": "r", "regraVersao": int32(3), "tipo": "parada", "tripId": "t", "regiao": "SP", "categoria": "X",
		"inicioEventId": "e", "inicioEm": int64(5), "decididoEm": int64(6), "detalhes": map[string]any{"a": "1", "b": "2", "c": "3"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("alert %v", got)
	}
	for range 20 { // map order must not reach the bytes
		if again, _ := AppendAlert(nil, 5, &alert); !bytes.Equal(again, value) {
			t.Fatal("equal alerts have other bytes")
		}
	}
}

func TestAppendRefusesWhatTheContractCannotHold(t *testing.T) {
	dst := []byte("before")
	bill := schemas.Bill{Version: 1, Amount: 1, Points: math.MaxInt32 + 1}
	for name, write := range map[string]func() ([]byte, error){
		"symbol": func() ([]byte, error) { return AppendRide(dst, 1, &schemas.RideRecord{Kind: "FATURA"}) },
		"text":   func() ([]byte, error) { return AppendTelemetry(dst, 1, &schemas.TelemetryRecord{DriverID: "\xff"}) },
		"amount": func() ([]byte, error) {
			return AppendPayment(dst, 1, &schemas.PaymentRecord{Kind: "CAPTURA", Amount: schemas.MaxCents + 1})
		},
		"price":   func() ([]byte, error) { return AppendTariff(dst, 1, &schemas.Tariff{PerKm: math.MinInt64}) },
		"points":  func() ([]byte, error) { return AppendBill(dst, 1, &bill, 1) },
		"version": func() ([]byte, error) { return AppendWindow(dst, 1, &schemas.Window{Version: -1 << 40}, 1) },
		"param": func() ([]byte, error) {
			return AppendRule(dst, 1, &schemas.Rule{Params: map[string]string{"\xff": ""}})
		},
		"detail": func() ([]byte, error) {
			return AppendAlert(dst, 1, &schemas.Alert{Details: map[string]string{"a": "\xff"}})
		},
	} {
		if got, err := write(); !errors.Is(err, ErrEncode) || string(got) != "before" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestReaderTakesOlderWritersAndRefusesNulls(t *testing.T) {
	r := NewPaymentReader()
	older := `{"type":"record","name":"P","fields":[{"name":"moeda","type":["null","string"]},{"name":"eventId","type":"string"},
		{"name":"tripId","type":"string"},{"name":"ocorridoEm","type":"int"},{"name":"tipo","type":{"type":"enum","name":"E","symbols":["PIX"]}},
		{"name":"valor","type":{"type":"bytes","logicalType":"decimal","precision":9,"scale":1}}]}`
	if err := r.Learn(1, older); err != nil {
		t.Fatal(err)
	}
	got, err := r.Decode([]byte("\x00\x00\x00\x00\x01\x02\x06BRL\x02e\x02t\x02\x00\x02\x05"))
	if want := (schemas.PaymentRecord{EventID: "e", TripID: "t", At: 1, Kind: "DESCONHECIDO", Amount: 50, Currency: "BRL"}); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err = r.Decode([]byte("\x00\x00\x00\x00\x01\x00\x02e\x02t\x02\x00\x02\x05")); !errors.Is(err, ErrNull) {
		t.Errorf("null currency: %v", err)
	}
	var unknown *UnknownSchemaError
	if _, err := r.Decode(appendFrame(nil, 2)); !errors.As(err, &unknown) {
		t.Errorf("unknown: %v", err)
	}
}

func shown(writerSchema string, value []byte) ([]byte, error) {
	p, err := NewPrinter(writerSchema)
	if err != nil {
		return nil, err
	}
	return p.Append(nil, value)
}

func TestPrinter(t *testing.T) {
	value, err := AppendPayment(nil, 5, &schemas.PaymentRecord{
		EventID: "é\"\n", TripID: "t", At: 1_750_000_000_000, Kind: "FATURA", Amount: -5, Currency: "BRL",
		Bill: &schemas.BillRecord{Version: 1, Multiplier: 1250, Rectification: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := shown(avro.EventoPagamento, value)
	want := `{"eventId":"é\"\n","tripId":"t","ocorridoEm":1750000000000,"tipo":"FATURA","valor":"-0.05","moeda":"BRL",` +
		`"meio":null,"cartaoId":null,"retifica":null,"fatura":{"versao":1,"distanciaMM":0,"duracaoS":0,"tarifaId":"","regiao":"",` +
		`"categoria":"","multiplicador":"1.250","inicio":0,"termino":0,"pontos":0,"descartados":0,"retificacao":true,` +
		`"motivo":null,"diferenca":null,"checkpointId":0}}`
	if err != nil || string(got) != want {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}

	for _, c := range []struct{ typ, bytes, want string }{
		{`"double"`, "\x00\x00\x00\x00\x00\x00\xf8\x7f", `"NaN"`},
		{`"float"`, "\x00\x00\x80\xff", `"-Infinity"`},
		{`"float"`, "\x00\x00\x80\x7f", `"Infinity"`},
		{`"float"`, "\xcd\xcc\xcc\x3d", `0.1`},
		{`"double"`, "\x92\xd5\x4d\x06\xcf\xf0\x80\x44", `1e+22`},
		{`"bytes"`, "\x04\xff\x00", `"/wA="`},
		{`{"type":"bytes","logicalType":"decimal","precision":5,"scale":0}`, "\x02\xfb", `"-5"`},
		{`{"type":"bytes","logicalType":"decimal","precision":30,"scale":2}`, "\x12\x01\x00\x00\x00\x00\x00\x00\x00\x00", `"184467440737095516.16"`},
		{`{"type":"bytes","logicalType":"decimal","precision":30,"scale":30}`, "\x12\xff\x00\x00\x00\x00\x00\x00\x00\x00", `"-0.000000000018446744073709551616"`},
		{`{"type":"array","items":["null","int"]}`, "\x02\x00\x02\x02\x04\x00", `[null,2]`},
		{`{"type":"map","values":"boolean"}`, "\x04\x02a\x01\x02b\x00\x00", `{"a":true,"b":false}`},
	} {
		got, err := shown(c.typ, append(appendFrame(nil, 5), c.bytes...))
		if err != nil || string(got) != c.want || !json.Valid(got) {
			t.Errorf("%s %x: %s, %v", c.typ, c.bytes, got, err)
		}
	}
	for _, c := range []struct {
		typ, bytes string
		want       error
	}{
		{`{"type":"bytes","logicalType":"decimal","precision":5,"scale":0}`, "\x00", ErrDecimal},
		{`{"type":"bytes","logicalType":"decimal","precision":5,"scale":0}`, "\x08\x7f\x7f\x7f\x7f", ErrDecimal},
		{`"int"`, "\x02\x02", ErrTrailing},
		{`"int"`, "", ErrTruncated},
		{`"integer"`, "", ErrSchema},
	} {
		if _, err := shown(c.typ, append(appendFrame(nil, 5), c.bytes...)); !errors.Is(err, c.want) {
			t.Errorf("%s %x: %v", c.typ, c.bytes, err)
		}
	}
	if _, err := shown(`"int"`, []byte("{}")); !errors.Is(err, ErrFrame) {
		t.Errorf("unframed: %v", err)
	}
}
