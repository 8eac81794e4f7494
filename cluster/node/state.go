package node

import (
	"context"
	"errors"
	"path/filepath"
	"strconv"

	"taximeter/actors/host"
	"taximeter/actors/partition"
	"taximeter/checkpoint/pebblestore"
	"taximeter/schemas"
)

// state makes a Pebble store the owner's State. It belongs to the owner's goroutine.
type state struct {
	ctx       context.Context // ends with the run; a full or slow disk is waited for until then
	store     *pebblestore.Store
	snapshots string // folder
	taken     int
}

func (s *state) Get(key []byte) ([]byte, bool, error) { return s.store.Get(key) }

// errEnough ends a scan.
var errEnough = errors.New("enough")

func (s *state) Due(from partition.DueTrip, upTo schemas.Millis, limit int) ([]partition.DueTrip, error) {
	var due []partition.DueTrip
	end := partition.DueKey(partition.DueTrip{Due: upTo.Add(1)})
	if upTo == schemas.EndOfTime {
		end = partition.DueEnd()
	}
	err := s.store.ScanRange(partition.DueKey(from), end, func(key, _ []byte) error {
		if len(due) == limit {
			return errEnough
		}
		d, ok := partition.ParseDueKey(key)
		if !ok {
			return errors.New("row " + strconv.Quote(string(key)) + " is no timer")
		}
		due = append(due, d)
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return due, err
}

func (s *state) Apply(changes []partition.Change) error {
	bytes := 0
	for _, c := range changes {
		bytes += len(c.Key) + len(c.Value)
	}
	b := s.store.NewBatchOf(len(changes), bytes)
	for _, c := range changes {
		if c.Value == nil {
			b.Delete(c.Key)
		} else {
			b.Put(c.Key, c.Value)
		}
	}
	return s.store.Apply(s.ctx, b)
}

func (s *state) Snapshot() (host.Snapshot, error) {
	s.taken++
	return s.store.Checkpoint(filepath.Join(s.snapshots, strconv.Itoa(s.taken)))
}
