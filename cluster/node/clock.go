package node

import (
	"log/slog"
	"sync/atomic"
	"time"

	"taximeter/schemas"
)

// clock is the node's wall time. It reads the machine's wall clock once, at the start, and
// goes by elapsed time from then on: where a partition is idle its event time follows this
// clock and never goes back, so a machine whose clock is set forward by hours would make
// everything that comes after late for good.
type clock struct {
	wall  func() time.Time // the machine's
	base  time.Time        // of the machine's wall clock at the start, without a monotonic reading
	began time.Time        // the same instant, for elapsed time
	awake time.Duration    // since boot, at the start
	told  atomic.Int64     // ns that the machine's clock was off when last told
}

// told in the log when the machine's clock and ours differ by so much more or less than before.
const notable = time.Minute

func newClock(wall func() time.Time) *clock {
	if wall == nil {
		wall = time.Now
	}
	return &clock{wall: wall, base: wall().Round(0), began: time.Now(), awake: sinceBoot()}
}

// now is the node's wall time.
func (c *clock) now() schemas.Millis { return schemas.Millis(c.time().UnixMilli()) }

func (c *clock) time() time.Time { return c.base.Add(c.elapsed()) }

// elapsed counts the time for which the machine was suspended too, where the system tells.
func (c *clock) elapsed() time.Duration {
	if now := sinceBoot(); now > 0 {
		return now - c.awake
	}
	return time.Since(c.began)
}

// at is the node's wall time of an instant of this process (one with a monotonic reading).
func (c *clock) at(t time.Time) schemas.Millis {
	return schemas.Millis(c.time().Add(-time.Since(t)).UnixMilli())
}

// watch tells once of each jump of the machine's clock.
func (c *clock) watch(log *slog.Logger) {
	off := c.wall().Round(0).Sub(c.time())
	if jump := off - time.Duration(c.told.Load()); jump.Abs() >= notable {
		c.told.Store(int64(off))
		log.Warn("the machine's clock was set; this node keeps the time that it started with until it is restarted", "by", jump.Round(time.Second), "off", off.Round(time.Second))
	}
}
