package kafkaout

import (
	"maps"
	"sync"
	"time"
)

// suspect is an open transaction that a transactional id may have begun.
type suspect struct {
	id string
	place
	producer, start int64
}

// verdicts are why transactions could not be ended, and are not to be for a while: openings follow each other
// within seconds, and each would read a day of the coordinator's log.
type verdicts struct {
	mu       sync.Mutex // guards standing
	standing map[suspect]verdict
}

type verdict struct {
	err   error
	until time.Time
}

// verdictPause is how long a verdict stands; so long after the rights are given it may take until it is noticed.
const verdictPause = time.Minute

// on is why a transaction is not to be ended now; nil = it may be tried.
func (v *verdicts) on(s suspect) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if known := v.standing[s]; time.Now().Before(known.until) {
		return known.err
	}
	return nil
}

// pass lets a verdict stand for a while, and goes over those that stand no more: of most transactions nobody
// ever asks again.
func (v *verdicts) pass(s suspect, err error, pause time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(v.standing, func(_ suspect, known verdict) bool { return !now.Before(known.until) })
	if v.standing == nil {
		v.standing = make(map[suspect]verdict)
	}
	v.standing[s] = verdict{err, now.Add(pause)}
}
