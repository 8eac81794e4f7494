package partition

import "taximeter/schemas"

// Mode says what moves time besides the events.
type Mode uint8

const (
	// Live: a source that is caught up and has not risen for a while is idle and leaves
	// the minimum; with all idle, time follows the wall clock.
	Live Mode = iota
	// Replay: the wall clock plays no part; a source leaves the minimum at its end offset.
	Replay
	// File is Replay for one ordered file, where a source not yet seen does not hold time.
	File
)

// numClocks is how many input topics move the watermark: telemetry and rides.
const numClocks = 2

// clock is the event time of the partition.
//
// Invariant: watermark never goes back.
type clock struct {
	mode      Mode
	settings  *Settings
	watermark schemas.Millis
	sources   [numClocks]source
}

// source is what the clock knows of one topic-partition.
type source struct {
	max    schemas.Millis // newest ocorridoEm accepted; NoTime = none
	roseAt schemas.Millis // wall clock when max last rose, or when we began to watch
	idle   bool
	ended  bool // replay: consumed up to its end offset
}

func newClock(mode Mode, s *Settings, now schemas.Millis) clock {
	c := clock{mode: mode, settings: s, watermark: schemas.NoTime}
	for i := range c.sources {
		c.sources[i] = source{max: schemas.NoTime, roseAt: now}
	}
	return c
}

// observe takes the instant of an accepted event. Payments never move time.
func (c *clock) observe(t schemas.Topic, at, now schemas.Millis) {
	if t >= numClocks {
		return
	}
	if s := &c.sources[t]; at > s.max {
		s.max, s.roseAt, s.idle = at, now, false
		c.advance(now)
	}
}

// SourceStatus is what the consumer knows of one topic-partition.
type SourceStatus struct {
	CaughtUp  bool           // as of the last successful fetch
	FetchedAt schemas.Millis // wall clock of the last successful fetch; NoTime = none yet
}

// caughtUp reports whether all topics were read to their ends a moment ago.
func (s *Settings) caughtUp(now schemas.Millis, status [schemas.NumInputs]SourceStatus) bool {
	for i := range status {
		if !s.fresh(now, status[i]) {
			return false
		}
	}
	return true
}

func (s *Settings) fresh(now schemas.Millis, of SourceStatus) bool {
	return of.CaughtUp && of.FetchedAt.Add(s.FetchFresh) >= now
}

// tick marks idle sources by the wall clock. Only in live mode.
func (c *clock) tick(now schemas.Millis, status [schemas.NumInputs]SourceStatus) {
	if c.mode != Live {
		return
	}
	for i := range c.sources {
		s := &c.sources[i]
		s.idle = c.settings.fresh(now, status[i]) && s.roseAt.Add(c.settings.IdleAfter) <= now
	}
	c.advance(now)
}

// end marks a source that reached its end offset in a replay.
func (c *clock) end(t schemas.Topic, now schemas.Millis) {
	if t < numClocks && !c.sources[t].ended {
		c.sources[t].ended = true
		c.advance(now)
	}
}

func (c *clock) advance(now schemas.Millis) {
	low, holding := schemas.EndOfTime, false
	for i := range c.sources {
		s := &c.sources[i]
		if s.idle || s.ended || (c.mode == File && s.max == schemas.NoTime) {
			continue
		}
		low, holding = min(low, s.max), true
	}
	switch {
	case holding:
		c.watermark = max(c.watermark, low.Add(-c.settings.Bound))
	case c.mode == Live: // all idle
		c.watermark = max(c.watermark, now.Add(-c.settings.Bound))
	}
}

// ahead says which topics should pause: those further than MaxAhead in event time before
// the slowest source that still holds time. The slowest is never paused, so there is
// always progress. Payments are never paused: they hold no time and are not held by it.
func (c *clock) ahead() (pause [schemas.NumInputs]bool) {
	low := schemas.EndOfTime
	for i := range c.sources {
		if s := &c.sources[i]; !s.idle && !s.ended {
			low = min(low, s.max)
		}
	}
	for i := range c.sources {
		s := &c.sources[i]
		pause[i] = low != schemas.NoTime && !s.ended && s.max != schemas.NoTime && s.max > low.Add(c.settings.MaxAhead)
	}
	return pause
}

// max is the newest instant accepted of a topic; NoTime for payments, which move no time.
func (c *clock) max(t schemas.Topic) schemas.Millis {
	if t >= numClocks {
		return schemas.NoTime
	}
	return c.sources[t].max
}
