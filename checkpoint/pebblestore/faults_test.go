package pebblestore

import (
	"sync"

	"taximeter/checkpoint"
	"taximeter/checkpoint/storetest"
)

// lockedFaults lets a plan keep state though transfers run at once.
type lockedFaults struct {
	storetest.Faults
	mu   sync.Mutex // guards what plan touches
	plan func(key string) storetest.Fault
}

func (l *lockedFaults) store() checkpoint.Store {
	l.Plan = func(_ storetest.Op, key string) storetest.Fault {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.plan(key)
	}
	return &l.Faults
}
