package oracle

import (
	"math"

	"taximeter/schemas"
)

const (
	bound    = 2 * schemas.Minute // out-of-orderness of the watermark, and what a clock may be ahead
	lateness = 2 * schemas.Minute
	window   = 5 * schemas.Minute
)

type seenKey struct {
	topic schemas.Topic
	trip  schemas.TripID
	event schemas.EventID
}

// verdicts judges the records one by one and gathers what was accepted, by trip.
func verdicts(records []schemas.Record) ([]schemas.Verdict, map[schemas.TripID][]schemas.Event) {
	out := make([]schemas.Verdict, len(records))
	accepted := make(map[schemas.TripID][]schemas.Event)
	seen := make(map[seenKey]bool)
	newest := make(map[schemas.Topic]schemas.Millis) // telemetry and rides only
	w := schemas.NoTime
	for i, r := range records {
		out[i] = refusal(r)
		if out[i] != schemas.Counted {
			continue
		}
		k := seenKey{r.Topic, r.TripID, r.EventID}
		if seen[k] {
			out[i] = schemas.Duplicate
			continue
		}
		seen[k] = true
		end := r.At - r.At%window + window
		switch {
		case w < end:
			out[i] = schemas.Counted
		case w < end+lateness:
			out[i] = schemas.Late
		default:
			out[i] = schemas.Rectified
		}
		accepted[r.TripID] = append(accepted[r.TripID], r.Event)
		if r.Topic == schemas.Payments {
			continue
		}
		if m, ok := newest[r.Topic]; !ok || r.At > m {
			newest[r.Topic] = r.At
		}
		least := schemas.EndOfTime
		for _, m := range newest {
			least = min(least, m)
		}
		w = max(w, least-bound)
	}
	return out, accepted
}

// refusal is the verdict of a record that does not reach the dedupe; Counted = it does.
func refusal(r schemas.Record) schemas.Verdict {
	bad := func(v float64, limit float64) bool { return math.IsNaN(v) || math.Abs(v) > limit }
	switch {
	case r.Fault != schemas.Counted:
		return r.Fault
	case r.TripID == "":
		return schemas.DLQNoTripID
	case r.EventID == "":
		return schemas.DLQNoEventID
	case r.Key != nil && string(r.Key) != string(r.TripID):
		return schemas.DLQKeyDiffers
	case r.At < 946_684_800_000:
		return schemas.DLQBadInstant
	case r.Topic == schemas.Telemetry && (bad(r.Lat, 90) || bad(r.Lon, 180) || r.Lat == 0 && r.Lon == 0):
		return schemas.DLQBadPosition
	case r.AppendedAt != schemas.NoTime && r.At > r.AppendedAt+bound:
		return schemas.DLQClockAhead
	case r.Topic == schemas.Payments && r.Kind == schemas.PayBill && r.Own:
		return schemas.Own
	case r.Topic == schemas.Payments && r.Kind == schemas.PayBill:
		return schemas.DLQForeignBill
	}
	return schemas.Counted
}
