package coordinator

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"taximeter/checkpoint"
)

// ErrDecidedAnew is an assignment that was decided on a tip whose runs, members or protocol are no
// longer the chain's. A process that slept in between would take back what another took.
var ErrDecidedAnew = errors.New("runs, members or the protocol have changed since this assignment was decided: look at the chain again")

func (c *Coordinator) assign(m *Assign) (checkpoint.Manifest, error) {
	return c.commit("assignment", func(tip checkpoint.Manifest) ([]checkpoint.Change, error) {
		if !m.holds(tip) {
			return nil, fmt.Errorf("manifest %d, decided on %d: %w", tip.Number, m.Seen.Number, ErrDecidedAnew)
		}
		return m.Changes, nil
	})
}

// commit puts the changes that decide makes of the tip, and decides anew after every loss.
func (c *Coordinator) commit(what string, decide func(tip checkpoint.Manifest) ([]checkpoint.Change, error)) (checkpoint.Manifest, error) {
	for range attempts {
		tip, err := c.tip()
		if err != nil {
			return checkpoint.Manifest{}, err
		}
		changes, err := decide(tip)
		if err != nil {
			return checkpoint.Manifest{}, err
		}
		next, err := checkpoint.Assign(tip, c.o.Limits, c.stamp(), changes...)
		if err != nil {
			return checkpoint.Manifest{}, err
		}
		won, tip, err := c.o.Chain.Commit(c.ctx, next)
		if err != nil {
			return checkpoint.Manifest{}, err
		}
		if won {
			c.report(tip, time.Now(), nil)
			return tip, nil
		}
	}
	return checkpoint.Manifest{}, fmt.Errorf("%s lost to other writers %d times", what, attempts)
}

// holds reports whether what was decided on Seen may still be done: members and protocol are
// the same, and the runs that it changes. The protocol is raised on Seen itself: a member that
// left and came back in between may be of an older version.
func (m *Assign) holds(tip checkpoint.Manifest) bool {
	return tip.Lineage == m.Seen.Lineage && tip.Speaks() == m.Seen.Speaks() && slices.Equal(tip.Members, m.Seen.Members) &&
		!slices.ContainsFunc(m.Changes, func(c checkpoint.Change) bool {
			switch c := c.(type) {
			case checkpoint.Speak:
				return tip.Number != m.Seen.Number
			case checkpoint.Start:
				now, exists := tip.Entry(c.Partition)
				before, existed := m.Seen.Entry(c.Partition)
				return !exists || !existed || now.Epoch != before.Epoch
			}
			return false
		})
}

// move seals anew only if the partition's entry changed: each lost put would have it stand still
// for another upload.
func (c *Coordinator) move(m *Move) (moved Moved, err error) {
	p := m.Task.Partition()
	if _, err := c.tip(); err != nil { // what is to be read for it is read while the partition runs
		return Moved{}, err
	}
	began := time.Now()
	if err := m.Quiesce(); err != nil {
		return Moved{}, err
	}
	quiet := time.Now()
	var last *checkpoint.Seal
	if offered, ok := c.offers[p]; ok {
		last = &offered
	}
	var grown *checkpoint.Entry // what last has grown from; nil = not sealed yet
	moved.Tip, err = c.commit(fmt.Sprintf("move of partition %d", p), func(tip checkpoint.Manifest) ([]checkpoint.Change, error) {
		e, ok := tip.Entry(p)
		if !ok || e.Incarnation != m.Task.Incarnation() {
			return nil, fmt.Errorf("partition %d is not run by this task any more", p)
		}
		if grown == nil || grown.Base() != e.Base() || grown.Next != e.Next {
			sealing := time.Now()
			m.Task.Committed(e)
			newer, err := m.Task.Seal(c.ctx, tip, c.next(m.Task, e.Seal)-1)
			if err != nil {
				return nil, fmt.Errorf("last seal of partition %d: %w", p, err)
			}
			if newer != nil { // else nothing happened since the one before
				last = newer
			}
			grown = &e
			moved.Sealed += time.Since(sealing)
		}
		return []checkpoint.Change{checkpoint.Start{Partition: p, Owner: m.To, Incarnation: m.Incarnation(e.Epoch + 1), Last: last}}, nil
	})
	moved.Quieted, moved.Entered = quiet.Sub(began), time.Since(quiet)-moved.Sealed
	return moved, err
}
