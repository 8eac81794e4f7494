package codec

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"taximeter/schemas"
	"taximeter/schemas/avro"
)

func TestLearnRefusesWhatCannotServe(t *testing.T) {
	const head = `{"type":"record","name":"T","fields":[`
	ids := `{"name":"eventId","type":"string"},{"name":"tripId","type":"string"}`
	at := `{"name":"ocorridoEm","type":{"type":"long","logicalType":"timestamp-millis"}}`
	place := `{"name":"latitude","type":"double"},{"name":"longitude","type":"double"}`
	of := func(fields ...string) string { return head + strings.Join(fields, ",") + `]}` }
	timed := func(typ string) string { return of(ids, place, `{"name":"ocorridoEm","type":`+typ+`}`) }
	for _, c := range []struct{ name, schema, want string }{
		{"fit", of(ids, at, place), ""},
		{"not JSON", `{`, "unfit"},
		{"not a schema", `{"type":"recorde","name":"T"}`, "unfit"},
		{"not a record", `"string"`, "top level is string, not a record"},
		{"several missing", of(at, `{"name":"latitude","type":"double"}`), "field eventId is missing; field tripId is missing; field longitude is missing"},
		{"wrong type", of(ids, at, `{"name":"latitude","type":"string"},{"name":"longitude","type":"double"}`), "field latitude: string cannot be read as double"},
		{"wrong branches", of(ids, at, `{"name":"latitude","type":["null","string"]},{"name":"longitude","type":"double"}`), "no branch of the union fits double"},
		{"narrowing", of(ids, at, place, `{"name":"velocidadeKmh","type":"double"}`), "double cannot be read as float"},
		{"micros", timed(`{"type":"long","logicalType":"timestamp-micros"}`), "timestamp-micros) cannot be read as long (timestamp-millis)"},
		{"nanos, which the parser does not know", timed(`{"type":"long","logicalType":"timestamp-nanos"}`), "timestamp-nanos"},
		{"local time", timed(`{"type":"long","logicalType":"local-timestamp-millis"}`), "local-timestamp-millis"},
		{"days", timed(`{"type":"int","logicalType":"date"}`), "date"},
		{"endless", of(ids, at, place, `{"name":"x","type":{"type":"record","name":"A","fields":[{"name":"a","type":"A"}]}}`), "contains itself"},
		{"twice", of(ids, at, place, `{"name":"x","type":"int"},{"name":"x","type":"int"}`), "x"},
	} {
		d := NewDecoder()
		err := d.Learn(schemas.Telemetry, 3, c.schema)
		if (err == nil) != (c.want == "") || err != nil && (!errors.Is(err, ErrSchema) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", c.name, err)
		}
		var ev schemas.Event
		err = d.Decode(schemas.Telemetry, appendFrame(nil, 3), &ev)
		if c.want != "" && !errors.Is(err, ErrSchema) {
			t.Errorf("%s: a value of the refused schema: %v", c.name, err)
		}
	}
}

func TestLearnRefusesDecimalsItCannotKeep(t *testing.T) {
	for typ, want := range map[string]string{
		`"bytes"`:  "bytes cannot be read as bytes (decimal)",
		`"double"`: "double cannot be read",
		`{"type":"bytes","logicalType":"decimal","precision":2,"scale":3}`:   "cannot be read", // invalid, so only bytes
		`{"type":"bytes","logicalType":"decimal","precision":90,"scale":90}`: "scale 90",
	} {
		schema := strings.Replace(avro.EventoPagamento, `{"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2}`, typ, 1)
		if err := NewDecoder().Learn(schemas.Payments, 1, schema); !errors.Is(err, ErrSchema) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", typ, err)
		}
	}
}

// Schemas of the same name do not see each other, and references bring the named types.
func TestLearnTakesReferences(t *testing.T) {
	d := NewDecoder()
	place := `{"type":"record","name":"br.comum.Ponto","fields":[{"name":"latitude","type":"double"},{"name":"longitude","type":"double"}]}`
	schema := strings.Replace(avro.EventoCorrida, `{
      "type": "record", "name": "PontoRota", "doc": "One vertex of the planned route.",
      "fields": [
        {"name": "latitude", "type": "double", "doc": "Degrees, WGS 84."},
        {"name": "longitude", "type": "double", "doc": "Degrees, WGS 84."}
      ]
    }`, `"br.comum.Ponto"`, 1)
	if err := d.Learn(schemas.Rides, 1, schema, place); err != nil {
		t.Fatal(err)
	}
	if err := d.Learn(schemas.Rides, 2, schema); !errors.Is(err, ErrSchema) {
		t.Errorf("without its reference: %v", err)
	}
	if err := d.Learn(schemas.Rides, 3, schema, `{`); !errors.Is(err, ErrSchema) {
		t.Errorf("with a broken reference: %v", err)
	}
	value, err := AppendRide(nil, 1, &schemas.RideRecord{EventID: "e", TripID: "t", Kind: "MATCH", Route: []schemas.LatLon{{Lat: 1, Lon: 2}}})
	if err != nil {
		t.Fatal(err)
	}
	var ev schemas.Event
	if err := d.Decode(schemas.Rides, value, &ev); err != nil || len(ev.Ride.Route) != 1 || ev.Ride.Route[0].Lon != 2 {
		t.Errorf("event %+v, %v", ev, err)
	}
}

// Symbols are matched by name, not by number; a new one is unknown and not an error.
func TestEnumSymbolsAreMatchedByName(t *testing.T) {
	d := NewDecoder()
	schema := `{"type":"record","name":"R","fields":[{"name":"tipo","type":{"type":"enum","name":"E","symbols":["PAUSA","TERMINO","FATURA","INICIO"]}},
		{"name":"eventId","type":"string"},{"name":"tripId","type":"string"},{"name":"ocorridoEm","type":"long"}]}`
	if err := d.Learn(schemas.Rides, 1, schema); err != nil {
		t.Fatal(err)
	}
	for i, want := range []schemas.Kind{schemas.KindUnknown, schemas.RideEnd, schemas.KindUnknown, schemas.RideStart} {
		var ev schemas.Event
		if err := d.Decode(schemas.Rides, append(varint(appendFrame(nil, 1), int64(i)), "\x02e\x02t\x02"...), &ev); err != nil || ev.Kind != want {
			t.Errorf("symbol %d: %v, %v", i, ev.Kind, err)
		}
	}
}

// A union of two records that would both do is read by the first: the plan of one must
// not be laid on the bytes of the other.
func TestUnionOfRecordsIsReadByTheFirst(t *testing.T) {
	d := NewDecoder()
	schema := `{"type":"record","name":"R","fields":[{"name":"eventId","type":"string"},{"name":"tripId","type":"string"},{"name":"ocorridoEm","type":"long"},
		{"name":"tipo","type":{"type":"enum","name":"E","symbols":["MATCH"]}},{"name":"rotaPrevista","type":{"type":"array","items":[
		{"type":"record","name":"A","fields":[{"name":"latitude","type":"int"},{"name":"longitude","type":"int"}]},
		{"type":"record","name":"B","fields":[{"name":"longitude","type":"int"},{"name":"latitude","type":"int"}]}]}}]}`
	if err := d.Learn(schemas.Rides, 1, schema); err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string]error{"\x02\x00\x02\x04\x00": nil, "\x02\x02\x02\x04\x00": ErrBranch} {
		var ev schemas.Event
		err := d.Decode(schemas.Rides, append(appendFrame(nil, 1), "\x02e\x02t\x02\x00"+body...), &ev)
		if !errors.Is(err, want) || err == nil && (want != nil || ev.Ride.Route[0].Lon != 2) {
			t.Errorf("%x: %+v, %v", body, ev.Ride.Route, err)
		}
	}
}

// Decode goes on without a lock while others learn.
func TestLearnBesideDecode(t *testing.T) {
	d := NewDecoder()
	if err := d.Learn(schemas.Telemetry, 0, avro.Telemetria); err != nil {
		t.Fatal(err)
	}
	value, err := AppendTelemetry(nil, 0, &schemas.TelemetryRecord{EventID: "e", TripID: "t"})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 20 {
				if err := d.Learn(schemas.Telemetry, 1+g*20+i, avro.Telemetria); err != nil {
					t.Error(err)
				}
			}
		})
		wg.Go(func() {
			for range 500 {
				var ev schemas.Event
				if err := d.Decode(schemas.Telemetry, value, &ev); err != nil || ev.TripID != "t" {
					t.Error(fmt.Sprint(ev, err))
				}
			}
		})
	}
	wg.Wait()
	var ev schemas.Event
	for id := range 81 {
		if err := d.Decode(schemas.Telemetry, appendFrame(nil, id), &ev); !errors.Is(err, ErrTruncated) {
			t.Errorf("id %d was lost: %v", id, err)
		}
	}
}
