package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"taximeter/schemas"
	"taximeter/schemas/edge"
)

// Probes are trips that begin at fixed times, one every so often, and break the speed rule
// once. All of their instants follow from their number, so a late send cannot hide.
type probes struct {
	start time.Time // of number 0
	every time.Duration
}

const probePrefix = "sonda-"

// Steps of a probe, after its start.
const (
	probeFast = time.Second     // the point that makes the alert
	probeEnd  = 2 * time.Second // the ride's end
)

// boundedDisorder is how far the watermark lies behind the newest event: a bill is due
// that long after the end of its trip.
const boundedDisorder = 2 * time.Minute

func (p probes) begins(n int) time.Time   { return p.start.Add(time.Duration(n) * p.every) }
func (p probes) alertDue(n int) time.Time { return p.begins(n).Add(probeFast) }
func (p probes) billDue(n int) time.Time  { return p.begins(n).Add(probeEnd + boundedDisorder) }

// number of a probe by its trip; false for other trips.
func number(id schemas.TripID) (int, bool) {
	text, ok := strings.CutPrefix(string(id), probePrefix)
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	return n, err == nil
}

// lines of a probe: start, two positions 40 m and a second apart, end.
func (p probes) lines(n int) []edge.Line {
	id, region, category := schemas.TripID(probePrefix+strconv.Itoa(n)), "sao-paulo", "economico"
	at := func(d time.Duration) schemas.Millis { return schemas.Millis(p.begins(n).Add(d).UnixMilli()) }
	event := func(name string) schemas.EventID { return schemas.EventID(fmt.Sprintf("%s-%d", name, n)) }
	ride := func(name string, kind schemas.Kind, after time.Duration) edge.Line {
		return edge.Line{Topic: schemas.Rides, Key: []byte(id), AppendedAt: at(after),
			Ride: &schemas.RideRecord{EventID: event(name), TripID: id, At: at(after), Kind: kind.String(), Region: &region, Category: &category}}
	}
	position := func(name string, after time.Duration, lat float64) edge.Line {
		return edge.Line{Topic: schemas.Telemetry, Key: []byte(id), AppendedAt: at(after),
			Telemetry: &schemas.TelemetryRecord{EventID: event(name), TripID: id, DriverID: "m-sonda", At: at(after), Lat: lat, Lon: -46.6}}
	}
	const metre = 1.0 / 111_195
	return []edge.Line{ride("i", schemas.RideStart, 0), position("a", 0, -23.5), position("b", probeFast, -23.5+40*metre), ride("t", schemas.RideEnd, probeEnd)}
}
