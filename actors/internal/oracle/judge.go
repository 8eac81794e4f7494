package oracle

import "taximeter/schemas"

// Input is everything that one partition of an event file was ever given.
type Input struct {
	Records     []schemas.Record // in arrival order, which is offset order within each topic
	Tariffs     []schemas.Tariff // of two versions of one key the later in the list stands
	MaxSpeedKmh float64          // 0 = no filter
}

// Finals are the results once all input has been read.
type Finals struct {
	Verdicts []schemas.Verdict // one per record
	Trips    map[schemas.TripID]Trip
}

// Trip is the final result of one trip.
type Trip struct {
	Bill    *Bill // nil = none is due
	Windows map[schemas.Millis]Window
	Status  string // of the reconciliation; "" = neither billed nor paid
}

// Judge works out the finals of an event file: file order, no horizon, a topic not yet
// seen does not hold the watermark, and the end of the file is the end of time.
func Judge(in Input) Finals {
	verdicts, accepted := verdicts(in.Records)
	f := Finals{Verdicts: verdicts, Trips: make(map[schemas.TripID]Trip)}
	for id, events := range accepted {
		f.Trips[id] = judgeTrip(events, in)
	}
	return f
}

func judgeTrip(events []schemas.Event, in Input) Trip {
	track := walk(effective(events, schemas.Telemetry), in.MaxSpeedKmh)
	bill := billOf(effective(events, schemas.Rides), track, in.Tariffs)
	return Trip{
		Bill:    bill,
		Windows: windowsOf(track),
		Status:  reconcile(bill, effective(events, schemas.Payments)),
	}
}
