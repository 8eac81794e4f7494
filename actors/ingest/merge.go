package ingest

import (
	"math"
	"time"
)

// patience is how long a partition waits for a topic that should have more at hand soon,
// before its other topics go on without it.
const patience = 2 * time.Second

// first is the lane whose next record was appended first; nil if none has any, or if one
// that has none at hand may still bring an earlier one.
//
// The order matters while catching up: a topic read hours ahead of another would make the
// other's events late. At the end of the log no lane is waited for.
func (t *task) first(now time.Time) *lane {
	var first *lane
	wait := false
	for _, l := range t.lanes {
		switch {
		case l.queued > 0 && !l.held && !l.waiting:
			l.missing = time.Time{}
			if first == nil || l.head < first.head {
				first = l
			}
		case !l.expected():
			l.missing = time.Time{}
		case l.missing.IsZero():
			l.missing = now
			wait = true
		case now.Sub(l.missing) < patience:
			wait = true
		}
	}
	if wait {
		return nil
	}
	return first
}

// expected reports whether a lane that has nothing to decode should have it soon.
func (l *lane) expected() bool {
	switch {
	case l.held, l.stopped != nil && !l.retried:
		return false
	case l.waiting:
		return l.why == nil // a registry that has failed once may fail for hours
	}
	return l.end < 0 || l.fetched < l.end
}

// look finds the place of the first queued record in the order of its partition: its
// append time as the broker wrote it.
//
// Control records and our own bills have no effect that an order could change, so they
// pass at once. While event files without append times are read, whose timestamps lie in
// the past of any clock, they would stop all behind them until the other topics end.
func (l *lane) look() {
	if l.queued == 0 {
		return
	}
	r := l.queue[0][0]
	if r.Attrs.IsControl() || wroteBy(r, l.namespace) {
		l.head = math.MinInt64
		return
	}
	l.head = r.Timestamp.UnixMilli()
}
