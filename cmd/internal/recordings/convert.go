package recordings

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"taximeter/schemas"
	"taximeter/schemas/edge"
)

// Summary is what a conversion wrote.
type Summary struct {
	Trips       int // all, those without a position included
	Empty       int // trips without a position: a ride start alone, as nobody recorded more
	Points      int // telemetry events, whatever the meter will say of them
	Repeated    int // of the points: (trip, instant, place) written before, so the eventId too
	NoFix       int // of the points: no valid place, such as (0,0)
	Rides       int // ride events
	First, Last schemas.Millis
}

func (s Summary) String() string {
	return fmt.Sprintf("%d trips (%d without a position), %d points (%d repeated, %d without a fix), %d ride events, %v to %v",
		s.Trips, s.Empty, s.Points, s.Repeated, s.NoFix, s.Rides, s.First, s.Last)
}

// Convert reads the recording of that format from the input files and writes it to out as
// event lines, in the order of the positions in the files. Errors name file, row and column.
func Convert(ctx context.Context, format string, inputs []string, out io.Writer) (Summary, error) {
	f, err := formatNamed(format)
	if err != nil {
		return Summary{}, err
	}
	if len(inputs) == 0 {
		return Summary{}, errors.New("no recording given")
	}
	r, err := read(ctx, f, inputs)
	if err != nil {
		return Summary{}, err
	}
	c := converter{format: f, out: edge.NewWriter(out), written: map[schemas.EventID]bool{}}
	c.sum = Summary{Trips: len(r.trips), First: schemas.EndOfTime, Last: schemas.NoTime}
	if err := c.write(ctx, r); err != nil {
		return c.sum, err
	}
	return c.sum, c.out.Flush()
}

type converter struct {
	format  *format
	out     *edge.Writer
	written map[schemas.EventID]bool // telemetry
	sum     Summary
}

func (c *converter) write(ctx context.Context, r *recording) error {
	empty := r.unseen()
	c.sum.Empty = len(empty)
	for i, p := range r.rows {
		if err := ctx.Err(); err != nil {
			return err
		}
		for len(empty) > 0 && empty[0].start.at <= p.at {
			if err := c.ride(empty[0], schemas.RideStart, empty[0].start); err != nil {
				return err
			}
			empty = empty[1:]
		}
		t := &r.trips[p.trip]
		if i == t.first && t.fixed {
			if err := c.ride(t, schemas.RideStart, t.start); err != nil {
				return err
			}
		}
		if err := c.point(t, p); err != nil {
			return err
		}
		if i == t.last && t.fixed {
			if err := c.ride(t, schemas.RideEnd, t.end); err != nil {
				return err
			}
		}
	}
	for _, t := range empty {
		if err := c.ride(t, schemas.RideStart, t.start); err != nil {
			return err
		}
	}
	return nil
}

func (c *converter) point(t *trip, p row) error {
	lat, lon := strconv.FormatFloat(p.place.Lat, 'g', -1, 64), strconv.FormatFloat(p.place.Lon, 'g', -1, 64)
	id := eventID("ponto", string(t.id), strconv.FormatInt(int64(p.at), 10), lat, lon)
	c.sum.Points++
	if c.written[id] {
		c.sum.Repeated++
	}
	c.written[id] = true
	if !p.place.Valid() {
		c.sum.NoFix++
	}
	return c.line(p.at, edge.Line{Topic: schemas.Telemetry, Telemetry: &schemas.TelemetryRecord{
		EventID: id, TripID: t.id, DriverID: t.driver, At: p.at, Lat: p.place.Lat, Lon: p.place.Lon,
	}})
}

func (c *converter) ride(t *trip, kind schemas.Kind, p row) error {
	c.sum.Rides++
	r := &schemas.RideRecord{
		EventID: eventID(strings.ToLower(kind.String()), string(t.id)), TripID: t.id, At: p.at, Kind: kind.String(),
		DriverID: &t.driver, Region: &c.format.region, Category: &c.format.category,
	}
	if p.place.Valid() {
		r.Lat, r.Lon = &p.place.Lat, &p.place.Lon
	}
	return c.line(p.at, edge.Line{Topic: schemas.Rides, Ride: r})
}

func (c *converter) line(at schemas.Millis, l edge.Line) error {
	c.sum.First, c.sum.Last = min(c.sum.First, at), max(c.sum.Last, at)
	l.Number, l.AppendedAt = c.sum.Points+c.sum.Rides, schemas.NoTime
	return c.out.Write(&l)
}

// eventID is a function of what the event says, so that converting again, or a row that
// stands in the recording twice, gives the same id.
func eventID(what ...string) schemas.EventID {
	space := uuid.NewSHA1(uuid.NameSpaceDNS, []byte("taximeter"))
	return schemas.EventID(uuid.NewSHA1(space, []byte("gravacao/"+strings.Join(what, "/"))).String())
}
