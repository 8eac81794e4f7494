package chaos

import (
	"fmt"
	"reflect"

	"github.com/twmb/franz-go/pkg/kadm"

	"taximeter/cluster/admin"
	"taximeter/cmd/internal/published"
	"taximeter/schemas"
)

// inputs are the names of the input topics.
var inputs = []string{schemas.TopicTelemetry, schemas.TopicRides, schemas.TopicPayments}

// maxFindings bounds what is told of one run.
const maxFindings = 12

func (r *Result) find(count *int, format string, args ...any) {
	*count++
	if len(r.Findings) < maxFindings {
		r.Findings = append(r.Findings, fmt.Sprintf(format, args...))
	}
}

// check compares what came out with what had to.
func check(m *material, got *published.Results, partitions []admin.PartitionStatus, ends kadm.ListedOffsets, res *Result) {
	compareAll(&m.expected, got, res)
	checkLetters(m, got, res)
	for i := range partitions {
		checkVerdicts(m, &partitions[i], ends, res)
	}
	if len(partitions) == 0 {
		res.find(&res.Missing, "the last life told of no partition")
	}
}

// Compare tells how published bills, windows and alerts differ from those that simulate
// gives for the same events: in their final versions, and in that each came once.
func Compare(wanted, got *published.Results) (res Result) {
	compareAll(wanted, got, &res)
	return res
}

func compareAll(wanted, got *published.Results, res *Result) {
	checkBills(wanted, got, res)
	checkWindows(wanted, got, res)
	checkAlerts(wanted, got, res)
}

func checkBills(wanted, got *published.Results, res *Result) {
	seen := make(map[string]bool)
	for i := range got.Bills {
		b := &got.Bills[i]
		if id := fmt.Sprintf("%s version %d", b.TripID, b.Version); seen[id] {
			res.find(&res.Duplicated, "bill %s was published twice", id)
		} else {
			seen[id] = true
		}
	}
	finals := got.FinalBills()
	for id := range finals {
		for v := 1; v < finals[id].Version; v++ {
			if !seen[fmt.Sprintf("%s version %d", id, v)] {
				res.find(&res.Missing, "bill %s: version %d was published without version %d", id, finals[id].Version, v)
			}
		}
	}
	compare(res, "bill", finals, wanted.FinalBills(), func(b schemas.Bill) any {
		b.Version, b.EventID, b.Rectification, b.Difference = 0, "", false, 0 // the history's
		return b
	}, func(b schemas.Bill) bool { return b.Motive == schemas.MotiveVoided })
}

func checkWindows(wanted, got *published.Results, res *Result) {
	seen := make(map[string]bool)
	for i := range got.Windows {
		w := &got.Windows[i]
		if id := fmt.Sprintf("%s %s version %d", w.TripID, w.Start, w.Version); seen[id] {
			res.find(&res.Duplicated, "window %s was published twice", id)
		} else {
			seen[id] = true
		}
	}
	compare(res, "window", got.FinalWindows(), wanted.FinalWindows(), func(w schemas.Window) any {
		w.Version, w.Verdict = 0, 0
		return w
	}, func(w schemas.Window) bool { return w.Points+w.Rejected == 0 })
}

// compare finds what is missing, too much, or other than wanted. What is void counts as
// not there: whether something was published before it was voided is the history's.
func compare[K comparable, V any](res *Result, what string, got, wanted map[K]V, final func(V) any, void func(V) bool) {
	for k, w := range wanted {
		switch g, ok := got[k]; {
		case !ok && void(w):
		case !ok:
			res.find(&res.Missing, "%s %v is missing", what, k)
		case !reflect.DeepEqual(final(g), final(w)) && !(void(g) && void(w)):
			res.find(&res.Differing, "%s %v: got %+v, simulate says %+v", what, k, g, w)
		}
	}
	for k, g := range got {
		if _, ok := wanted[k]; !ok && !void(g) {
			res.find(&res.Differing, "%s %v is one that simulate knows nothing of", what, k)
		}
	}
}

func checkAlerts(wanted, got *published.Results, res *Result) {
	count := make(map[string]int)
	for i := range got.Alerts {
		count[got.Alerts[i].AlertID]++
	}
	for i := range got.Alerts {
		if a := &got.Alerts[i]; count[a.AlertID] > 1 {
			res.find(&res.Duplicated, "alert %s (rule %s, trip %s) was sent %d times", a.AlertID, a.RuleID, a.TripID, count[a.AlertID])
			count[a.AlertID] = 1
		}
	}
	for i := range wanted.Alerts {
		a := &wanted.Alerts[i]
		if count[a.AlertID] == 0 {
			res.find(&res.Missing, "alert %s is missing: rule %s, trip %s, onset %s at %s", a.AlertID, a.RuleID, a.TripID, a.OnsetID, a.OnsetAt)
		}
		delete(count, a.AlertID)
	}
	for i := range got.Alerts {
		if a := &got.Alerts[i]; count[a.AlertID] > 0 {
			res.find(&res.Differing, "alert %s is one that simulate knows nothing of: rule %s, trip %s, onset %s at %s", a.AlertID, a.RuleID, a.TripID, a.OnsetID, a.OnsetAt)
		}
	}
}

func checkLetters(m *material, got *published.Results, res *Result) {
	seen := make(map[string]bool)
	for _, l := range got.Letters {
		source := l.Headers[schemas.HeaderSource]
		if seen[source] {
			res.find(&res.Duplicated, "the dead letter of %s was published twice", source)
		}
		seen[source] = true
	}
	total := int64(0)
	for _, n := range m.letters {
		total += n
	}
	if m.again {
		total *= 2
	}
	if n := int64(len(seen)); n < total {
		res.find(&res.Missing, "%d dead letters, simulate has %d", n, total)
	} else if n > total && !m.resent {
		res.find(&res.Differing, "%d dead letters, simulate has %d", n, total)
	}
}

// checkVerdicts proves that every record has exactly one: per partition, verdicts and
// control offsets and what an operator skipped sum to the offsets consumed, and all there was is consumed.
func checkVerdicts(m *material, p *admin.PartitionStatus, ends kadm.ListedOffsets, res *Result) {
	sum, own := p.Control, p.Verdicts[schemas.Own.String()]
	for _, n := range p.Verdicts {
		sum += n
	}
	consumed := int64(0)
	for i, topic := range inputs {
		consumed += int64(p.NextOffset[i] - p.FirstOffset[i])
		end, ok := ends.Lookup(topic, int32(p.Partition))
		// Bills of the last life lie behind the end that it took at its start.
		if !ok || int64(p.NextOffset[i]) > end.Offset || schemas.Topic(i) != schemas.Payments && int64(p.NextOffset[i]) != end.Offset {
			res.find(&res.Missing, "partition %d of %s was read to %d of %d", p.Partition, topic, p.NextOffset[i], end.Offset)
		}
	}
	skipped := int64(0)
	for _, n := range p.Skipped {
		skipped += n
	}
	if sum+skipped != consumed {
		res.find(&res.Differing, "partition %d: %d verdicts and control offsets and %d skipped, %d offsets consumed", p.Partition, sum, skipped, consumed)
	}
	if dup := p.Verdicts[schemas.Duplicate.String()]; m.again && dup < (m.records[p.Partition]-2*m.letters[p.Partition])/2 {
		res.find(&res.Differing, "partition %d: all events came again, and only %d are duplicates", p.Partition, dup)
	}
	if events := sum - p.Control - own; events < m.records[p.Partition] || events > m.records[p.Partition] && !m.resent {
		res.find(&res.Differing, "partition %d: %d verdicts on events, %d were sent", p.Partition, events, m.records[p.Partition])
	}
}
