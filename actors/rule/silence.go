package rule

import "taximeter/schemas"

// OnWatermark tells the silences that have become due by watermark w.
func (m *Memory) OnWatermark(b *Book, f *Facts, w schemas.Millis, out Emitter) {
	if !m.watches(b, silence) || !f.started() {
		return
	}
	c := cursor{m: m}
	since, id := f.quietSince()
	for i := range b.families {
		family := &b.families[i]
		if family.kinds&silence == 0 {
			continue
		}
		e := c.seek(family.id)
		due, v := family.silenceDue(f, e, since)
		if v == nil || due > w {
			continue
		}
		e = c.open(e, family.id)
		e.begin(silence, id, since, schemas.LatLon{})
		e.fired = true
		out.Alert(e.alert(v, f, due, silenceDetails(v, due-since)))
		e.onsetAt = due
	}
}

// NextDue is the watermark at which OnWatermark would next tell something, if the trip
// stays as it is; EndOfTime = never.
func (m *Memory) NextDue(b *Book, f *Facts) schemas.Millis {
	next := schemas.EndOfTime
	if !m.watches(b, silence) || !f.started() {
		return next
	}
	c := cursor{m: m}
	since, _ := f.quietSince()
	for i := range b.families {
		if family := &b.families[i]; family.kinds&silence != 0 {
			due, _ := family.silenceDue(f, c.seek(family.id), since)
			next = min(next, due)
		}
	}
	return next
}

// quietSince is the last sign of life of a trip in progress: its newest point, or its
// start where there has been none since.
func (f *Facts) quietSince() (schemas.Millis, schemas.EventID) {
	if f.LastAt >= f.Start {
		return f.LastAt, f.LastID
	}
	return f.Start, f.StartID
}

// silenceDue is the earliest instant at which the version then in force finds the trip
// silent for long enough; EndOfTime and nil = none will, or this silence has been told.
//
// A silence that was told goes on until there is a point later than that moment: a late
// point from before it does not begin another.
func (family *family) silenceDue(f *Facts, told *episode, since schemas.Millis) (schemas.Millis, *version) {
	if told != nil && told.kind == silence && since <= told.onsetAt {
		return schemas.EndOfTime, nil
	}
	for i := range family.versions {
		v := &family.versions[i]
		if v.kind != silence || !v.concerns(f) {
			continue
		}
		until := schemas.EndOfTime
		if i+1 < len(family.versions) {
			until = family.versions[i+1].validFrom
		}
		due := max(since.Add(v.duration), v.validFrom)
		if due < until && (!f.ended() || due < f.End) {
			return due, v
		}
	}
	return schemas.EndOfTime, nil
}
