package recordings

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"taximeter/schemas"
)

// recording is a whole one in memory: it must be known where a trip's last row is before
// its first can be written.
type recording struct {
	rows  []row
	trips []trip
}

// row is one position, in the file's order.
type row struct {
	trip  int // index in recording.trips
	at    schemas.Millis
	place schemas.LatLon
}

// trip is what all rows of a trip say together.
type trip struct {
	id          schemas.TripID
	driver      string
	rows        int
	first, last int  // rows, in the file's order; meaningless without rows
	start, end  row  // earliest and latest row with a fix
	fixed       bool // start and end are set
}

// read reads the inputs of a format: one or more files of positions and, where the format
// has them, lists of trips, told apart by their columns.
func read(ctx context.Context, f *format, inputs []string) (r *recording, err error) {
	r = &recording{}
	byID := map[schemas.TripID]int{}
	var lists []*table
	var all []*table
	defer func() {
		for _, t := range all {
			err = errors.Join(err, t.close())
		}
	}()
	for _, path := range inputs {
		t, err := openTable(ctx, path)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
		lacksPoints, tripList := t.missing(f.pointColumns()), f.tripListColumns()
		switch {
		case len(lacksPoints) == 0:
			if err := r.readPoints(f, t, byID); err != nil {
				return nil, err
			}
		case tripList != nil && len(t.missing(tripList)) == 0:
			lists = append(lists, t)
		default:
			return nil, fmt.Errorf("%s: not positions of a %s recording: no column %s; its columns are %s",
				path, f.name, strings.Join(lacksPoints, ", "), strings.Join(t.header, ", "))
		}
	}
	if len(r.rows) == 0 {
		return nil, fmt.Errorf("no positions in %s; a %s recording needs a file with the columns %s",
			strings.Join(inputs, ", "), f.name, strings.Join(f.pointColumns(), ", "))
	}
	for _, t := range lists {
		if err := r.readTrips(f, t, byID); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (r *recording) readPoints(f *format, t *table, byID map[schemas.TripID]int) error {
	for {
		more, err := t.next()
		if err != nil || !more {
			return err
		}
		parts := make([]string, len(f.keys))
		for i, column := range f.keys {
			if parts[i], err = t.id(column); err != nil {
				return err
			}
		}
		var p row
		if p.at, err = t.instant("ts"); err != nil {
			return err
		}
		if p.place.Lat, err = t.degrees("lat"); err != nil {
			return err
		}
		if p.place.Lon, err = t.degrees("lon"); err != nil {
			return err
		}
		id := schemas.TripID(strings.Join(parts, "-"))
		known := false
		if p.trip, known = byID[id]; !known {
			p.trip = len(r.trips)
			byID[id] = p.trip
			r.trips = append(r.trips, trip{id: id, driver: t.text(f.driver), first: len(r.rows)})
		}
		r.trips[p.trip].add(p, len(r.rows))
		r.rows = append(r.rows, p)
	}
}

func (t *trip) add(p row, index int) {
	t.rows++
	t.last = index
	switch {
	case !p.place.Valid():
	case !t.fixed:
		t.start, t.end, t.fixed = p, p, true
	case p.at < t.start.at:
		t.start = p
	case p.at >= t.end.at:
		t.end = p
	}
}

// readTrips adds the trips that have no position; the others must agree with their rows.
func (r *recording) readTrips(f *format, t *table, byID map[schemas.TripID]int) error {
	for {
		more, err := t.next()
		if err != nil || !more {
			return err
		}
		text, err := t.id(f.trips.id)
		if err != nil {
			return err
		}
		points, err := t.count(f.trips.points)
		if err != nil {
			return err
		}
		have, id := 0, schemas.TripID(text)
		known, ok := byID[id]
		if ok {
			have = r.trips[known].rows
		}
		if have != points {
			return fmt.Errorf("%s: row %d: trip %s should have %d positions, the recording has %d; are the files of one recording?", t.path, t.row, id, points, have)
		}
		if ok {
			continue
		}
		start, err := t.instant(f.trips.start)
		if err != nil {
			return err
		}
		byID[id] = len(r.trips)
		r.trips = append(r.trips, trip{id: id, driver: t.text(f.trips.driver), start: row{at: start}})
	}
}

// unseen are the trips without a position, by start.
func (r *recording) unseen() (trips []*trip) {
	for i := range r.trips {
		if r.trips[i].rows == 0 {
			trips = append(trips, &r.trips[i])
		}
	}
	slices.SortStableFunc(trips, func(a, b *trip) int { return int(a.start.at - b.start.at) })
	return trips
}
