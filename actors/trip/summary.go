package trip

import "taximeter/schemas"

// Summary is the trip as it stands, for tables that people read. It allocates nothing.
func (s *State) Summary(watermark schemas.Millis) schemas.TripSummary {
	t := &s.story
	out := schemas.TripSummary{TripID: s.id, Phase: t.phase.String(), Region: t.region.Region, Category: t.category.Category,
		Start: schemas.NoTime, End: schemas.NoTime, StartInferred: t.inferred, Reconciliation: s.Reconcile(watermark)}
	if t.phase >= running {
		end := schemas.EndOfTime
		out.Start = t.start
		if t.ended() {
			end, out.End = t.end, t.end
		}
		out.DistanceMM, out.Points, out.Rejected = s.ridden.mm, int(s.ridden.points), int(s.ridden.rejected)
		out.DurationS = int64((min(end, max(s.lastMove, t.start)) - t.start) / schemas.Second)
	}
	b := s.billing.last
	if b == nil {
		return out
	}
	out.BillVersion, out.Amount, out.Currency, out.Motive = b.Version, b.Amount, b.Currency, b.Motive
	if s.stage != detailed { // the events that told it are gone
		out.Phase, out.Region, out.Category = ended.String(), b.Region, b.Category
		if b.Motive == schemas.MotiveCancelled {
			out.Phase = cancelled.String()
		}
		out.Start, out.End, out.DistanceMM, out.DurationS, out.Points, out.Rejected = b.Start, b.End, b.DistanceMM, b.DurationS, b.Points, b.Rejected
	}
	return out
}
