package reconcile

import (
	"taximeter/checkpoint"
	"taximeter/schemas"
)

// logs checks that the topics hold what was consumed to its end, and all that comes next.
func (r *running) logs(p schemas.Partition, e checkpoint.Entry) {
	behind := int64(0)
	for _, t := range schemas.Inputs {
		next, extent := e.Next[t], r.bounds[t][int32(p)]
		switch {
		case next < extent.First:
			r.report.differ(kindLog, p, "", "offsets [%d, %d) of %s were deleted before they were read", next, extent.First, t)
		case next > extent.End:
			r.report.differ(kindLog, p, "", "%s ends at offset %d and was consumed up to %d: the topic was made anew, or lost records", t, extent.End, next)
		default:
			behind += int64(extent.End - next)
		}
	}
	if n := len(r.report.Partitions); n > 0 && r.report.Partitions[n-1].Partition == p {
		r.report.Partitions[n-1].Behind = behind
	}
}
