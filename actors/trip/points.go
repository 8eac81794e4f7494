package trip

import (
	"fmt"
	"math"
	"slices"

	"taximeter/actors/geo"
	"taximeter/schemas"
)

// A part of points: format, count, then for each point its flags, its instant as a
// difference, its position, its id, and if linked what it rectifies. Positions of at most
// seven decimals, which is a centimetre, are written as differences of integers.

const (
	flagVerdict = 0x07 // the verdict's bits
	flagLinked  = 0x08 // rectifies another event
	flagExact   = 0x10 // the position as two floats
	flagsKnown  = flagVerdict | flagLinked | flagExact

	degreeScale = 1e7

	// minPoint is the fewest bytes of a point: flags, instant, position, id of one letter.
	minPoint = 1 + 1 + 2 + 2
)

const (
	// MaxParts is how many parts the points of a trip may lie in. More make reading them back
	// dearer; fewer write points more often.
	MaxParts = 16
	// joinParts that hold only points in memory are written as one.
	joinParts = 2
)

// Parts is how many parts hold the points written so far.
func (s *State) Parts() int { return int(s.parts) }

// HasNewPoints reports whether points came since the last AppendPoints.
func (s *State) HasNewPoints() bool { return s.fresh > 0 }

// AppendPoints writes the points that no part holds yet, perhaps with some that parts hold,
// and tells the number of their part, which replaces all from that number on.
func (s *State) AppendPoints(dst []byte) (part int, b []byte) {
	t := &s.track
	part = int(s.parts)
	if open := t.openPart(); part-open >= joinParts || part == MaxParts {
		part = open
	}
	b = t.appendPoints(dst, s.links, uint8(part))
	for i := range t.points {
		if p := &t.points[i]; int(p.part) >= part {
			p.part = uint8(part)
		}
	}
	s.parts, s.fresh = uint8(part+1), 0
	return part, b
}

// appendPoints writes the points that no part before the one given holds.
func (t *track) appendPoints(dst []byte, links map[schemas.EventID]schemas.EventID, part uint8) []byte {
	e := encoder{append(dst, SnapshotFormat)}
	n := uint64(0)
	for i := range t.points {
		if t.points[i].part >= part {
			n++
		}
	}
	e.uint(n)
	var at schemas.Millis
	var lat, lon int64
	for i := range t.points {
		p := &t.points[i]
		if p.part < part {
			continue
		}
		flags := uint64(p.verdict)
		var target schemas.EventID
		if len(links) > 0 {
			if target = links[t.ids.id(p.id)]; target != "" {
				flags |= flagLinked
			}
		}
		pLat, latFits := fixed(p.pos.Lat)
		pLon, lonFits := fixed(p.pos.Lon)
		if !latFits || !lonFits {
			flags |= flagExact
		}
		e.uint(flags)
		e.int(int64(p.at - at))
		at = p.at
		if flags&flagExact != 0 {
			e.float(p.pos.Lat)
			e.float(p.pos.Lon)
		} else {
			e.int(pLat - lat)
			e.int(pLon - lon)
			lat, lon = pLat, pLon
		}
		e.b = append(e.b, t.ids.entry(p.id)...)
		if target != "" {
			e.b = schemas.AppendPacked(e.b, target)
		}
	}
	return e.b
}

// fixed is a coordinate as an integer, if that loses nothing of it.
func fixed(degrees float64) (int64, bool) {
	v := math.Round(degrees * degreeScale)
	return int64(v), v/degreeScale == degrees && (v != 0 || !math.Signbit(degrees))
}

// restorePoints takes the points of the first parts, and what they rectify.
func (t *track) restorePoints(parts [][]byte, links *map[schemas.EventID]schemas.EventID) error {
	for i, part := range parts {
		if err := t.restorePart(part, uint8(i), links); err != nil {
			return fmt.Errorf("part %d of %d of its points: %w", i, len(parts), err)
		}
	}
	slices.SortFunc(t.points, func(a, b point) int {
		if t.before(&a, &b) {
			return -1
		}
		return 1
	})
	return nil
}

func (t *track) restorePart(part []byte, number uint8, links *map[schemas.EventID]schemas.EventID) error {
	if err := checkFormat(part); err != nil {
		return err
	}
	d := decoder{b: part[1:]}
	var at schemas.Millis
	var lat, lon int64
	for n := d.count(minPoint); n > 0 && !d.bad; n-- {
		flags := d.uint()
		p := point{verdict: schemas.Verdict(flags & flagVerdict), part: number}
		at += schemas.Millis(d.int())
		p.at = at
		if flags&flagExact != 0 {
			p.pos = schemas.LatLon{Lat: d.float(), Lon: d.float()}
		} else {
			lat, lon = lat+d.int(), lon+d.int()
			p.pos = schemas.LatLon{Lat: float64(lat) / degreeScale, Lon: float64(lon) / degreeScale}
		}
		id := d.id()
		if d.bad || flags&^flagsKnown != 0 || !p.verdict.Accepted() || !p.pos.Valid() {
			d.bad = true
			break
		}
		if _, known := t.ids.find(id); known {
			return fmt.Errorf("the point %q stands in it twice, or in two parts", id)
		}
		p.id = t.ids.add(id)
		if flags&flagLinked != 0 {
			if *links == nil {
				*links = make(map[schemas.EventID]schemas.EventID)
			}
			(*links)[id] = d.id()
		}
		t.points = append(t.points, p)
	}
	if d.bad || len(d.b) > 0 {
		return fmt.Errorf("damaged at byte %d", len(part)-len(d.b))
	}
	return nil
}

// segment is the length in mm of the segment between two points.
func (t *track) segment(from, to int) int64 {
	return int64(math.Round(geo.Haversine(t.points[from].pos, t.points[to].pos) * 1000))
}
