package feed

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"taximeter/schemas"
	"taximeter/schemas/avro"
	"taximeter/schemas/codec"
	"taximeter/schemas/edge"
)

// file is one line of each kind that a file may hold, readable or not.
const file = `
{"topic":"corridas.telemetria","value":{"eventId":"e","tripId":"t","motoristaId":"m","ocorridoEm":1764000000000,"latitude":41.5,"longitude":-8.6,"velocidadeKmh":33.5,"retifica":"d"}}
{"topic":"corridas.telemetria","appendedAt":1764000000123,"value":{"eventId":"e","tripId":"t","motoristaId":"m","ocorridoEm":1764000000000,"latitude":41.5,"longitude":-8.6}}
{"topic":"corridas.telemetria","value":{"eventId":"","tripId":"t","motoristaId":"m","ocorridoEm":1764000000000,"latitude":41.5,"longitude":-8.6}}
{"topic":"corridas.telemetria","value":{"eventId":"e","motoristaId":"m","ocorridoEm":1764000000000,"latitude":41.5,"longitude":-8.6}}
{"topic":"corridas.telemetria","value":{"eventId":"e","tripId":"t","latitude":41.5,"longitude":-8.6}}
{"topic":"corridas.telemetria","value":{"eventId":"e","tripId":"t","ocorridoEm":1764000000000,"latitude":"NaN","longitude":-8.6}}
{"topic":"corridas.telemetria","value":{"eventId":"e","tripId":"t","ocorridoEm":1764000000000,"longitude":-8.6}}
{"topic":"corridas.telemetria","value":{"eventId":"e","tripId":"t","ocorridoEm":1764000000000,"latitude":0,"longitude":0}}
{"topic":"corridas.telemetria","key":"u","value":{"eventId":"e","tripId":"t","ocorridoEm":1764000000000,"latitude":41.5,"longitude":-8.6}}
{"topic":"corridas.telemetria","key":"","value":{"eventId":"e","tripId":"t","ocorridoEm":1764000000000,"latitude":41.5,"longitude":-8.6}}
{"topic":"corridas.telemetria","value":{"eventId":"e","tripId":7,"ocorridoEm":1764000000000,"latitude":41.5,"longitude":-8.6}}
{"topic":"corridas.telemetria","value":[1,2]}
{"topic":"corridas.telemetria","raw":"bm90IGEgZnJhbWU="}
{"topic":"corridas.eventos","value":{"eventId":"e","tripId":"t","ocorridoEm":1764000000000,"tipo":"MATCH","regiao":"centro","categoria":"","multiplicador":"1.25","latitude":41.5,"longitude":-8.6,"rotaPrevista":[{"latitude":1,"longitude":2}]}}
{"topic":"corridas.eventos","value":{"eventId":"e","tripId":"t","ocorridoEm":1764000000000,"tipo":"DECOLAGEM","rotaPrevista":[]}}
{"topic":"corridas.eventos","value":{"eventId":"e","tripId":"t","ocorridoEm":1764000000000}}
{"topic":"corridas.eventos","value":{"eventId":"e","tripId":"t","ocorridoEm":1764000000000,"tipo":"INICIO","latitude":41.5}}
{"topic":"corridas.eventos","value":{"eventId":"e","tripId":"t","ocorridoEm":1764000000000,"tipo":"MATCH","multiplicador":"1.2345"}}
{"topic":"corridas.eventos","value":{"eventId":"e","tripId":"t","ocorridoEm":-1,"tipo":"MATCH"}}
{"topic":"pagamentos.eventos","value":{"eventId":"e","tripId":"t","ocorridoEm":1764000000000,"tipo":"CAPTURA","valor":"-12.34","moeda":"BRL","meio":"DINHEIRO"}}
{"topic":"pagamentos.eventos","value":{"eventId":"e","tripId":"t","ocorridoEm":1764000000000,"tipo":"FATURA","valor":"1.00","moeda":"BRL"}}
{"topic":"pagamentos.eventos","value":{"eventId":"e","tripId":"t","ocorridoEm":1764000000000,"tipo":"PIX","valor":"1.00","moeda":"BRL"}}
{"topic":"pagamentos.eventos","value":{"eventId":"e","tripId":"t","ocorridoEm":1764000000000,"tipo":"CAPTURA","moeda":"BRL"}}
`

// The meter must say of a line that went through Kafka what it says of it in a file.
func TestKafkaAndFileSayTheSame(t *testing.T) {
	e := &Encoder{SchemaIDs: [schemas.NumInputs]int{7, 8, 9}}
	decoder := codec.NewDecoder()
	for _, topic := range schemas.Inputs {
		contract, _ := avro.Of(topic.String())
		if err := decoder.Learn(topic, e.SchemaIDs[topic], contract.Schema); err != nil {
			t.Fatal(err)
		}
	}
	lines, texts := edge.NewReader("file", strings.NewReader(file)), 0
	for {
		line, err := lines.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		var inFile schemas.Record
		line.Record(&inFile)
		if inFile.Fault == schemas.Counted {
			inFile.Fault = schemas.CheckEvent(&inFile.Event, inFile.Key)
		} else if line.Raw == nil {
			texts++
		}
		r, err := e.Record(line)
		if err != nil {
			t.Fatal(err)
		}
		if line.AppendedAt != schemas.NoTime && !r.Timestamp.Equal(time.UnixMilli(int64(line.AppendedAt))) || line.AppendedAt == schemas.NoTime && !r.Timestamp.IsZero() {
			t.Errorf("line %d: timestamp %v", line.Number, r.Timestamp)
		}
		if r.Key == nil || r.Topic != line.Topic.String() {
			t.Errorf("line %d: key %q on %s", line.Number, r.Key, r.Topic)
		}
		var event schemas.Event
		verdict := schemas.DLQUnreadable
		if err := decoder.Decode(line.Topic, r.Value, &event); err == nil {
			verdict = schemas.CheckEvent(&event, r.Key)
			want := inFile.Event
			if event.Kind != want.Kind || event.Has != want.Has || event.TripID != want.TripID || event.EventID != want.EventID || event.Rectifies != want.Rectifies ||
				event.At != want.At || verdict == schemas.Counted && (event.LatLon != want.LatLon || event.SpeedKmh != want.SpeedKmh || event.Payment != want.Payment ||
				event.Ride.Region != want.Ride.Region || event.Ride.Multiplier != want.Ride.Multiplier || len(event.Ride.Route) != len(want.Ride.Route)) {
				t.Errorf("line %d: in the file %+v\nfrom Kafka %+v", line.Number, want, event)
			}
		}
		if verdict != inFile.Fault {
			t.Errorf("line %d: %s in the file, %s from Kafka", line.Number, inFile.Fault, verdict)
		}
	}
	if e.AsText != int64(texts) || texts == 0 {
		t.Errorf("%d went as text, want %d", e.AsText, texts)
	}
}

func TestWhatNeitherAvroNorAFileHoldsIsAnError(t *testing.T) {
	e := &Encoder{}
	line := edge.Line{Topic: schemas.Rides, AppendedAt: schemas.NoTime, Ride: &schemas.RideRecord{TripID: "\xff", Kind: "INICIO"}}
	if _, err := e.Record(&line); !errors.Is(err, codec.ErrEncode) {
		t.Errorf("a trip id that is no text: %v", err)
	}
	if _, err := e.Record(&edge.Line{}); err == nil {
		t.Error("an empty line was taken")
	}
}
