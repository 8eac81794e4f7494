package edge

import (
	"bufio"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"taximeter/schemas"
)

// Writer writes event files that Reader reads back to the same lines. Null fields are
// left out, instants are epoch milliseconds.
//
// A Line made by hand must say AppendedAt: schemas.NoTime when it has none; zero is 1970.
type Writer struct {
	w   *bufio.Writer
	buf []byte
}

// NewWriter writes to w. The caller calls Flush at the end.
func NewWriter(w io.Writer) *Writer { return &Writer{w: bufio.NewWriterSize(w, 256<<10)} }

// Write writes one event.
func (w *Writer) Write(l *Line) error {
	var err error
	if w.buf, err = AppendLine(w.buf[:0], l); err != nil {
		return fmt.Errorf("write event %d: %w", l.Number, err)
	}
	if _, err := w.w.Write(append(w.buf, '\n')); err != nil {
		return fmt.Errorf("write event %d: %w", l.Number, err)
	}
	return nil
}

// Flush writes what is still buffered.
func (w *Writer) Flush() error { return w.w.Flush() }

// AppendLine appends the event to dst, without a line end. A line with a Fault keeps the
// value as it stood. Text that is not UTF-8 cannot be written and is an error.
func AppendLine(dst []byte, l *Line) ([]byte, error) {
	m := members{dst: append(dst, '{')}
	m.text(fTopic, l.Topic.String())
	if l.AppendedAt != schemas.NoTime {
		m.integer(fAppendedAt, int64(l.AppendedAt))
	}
	if l.Key != nil {
		m.text(fKey, string(l.Key))
	}
	switch {
	case l.Raw != nil:
		m.text(fRaw, base64.StdEncoding.EncodeToString(l.Raw))
	case l.Fault != schemas.Counted && l.Value != nil:
		m.name(fValue)
		m.dst = append(m.dst, l.Value...)
	case l.Telemetry != nil:
		m.object(fValue, func() { m.telemetry(l.Telemetry) })
	case l.Ride != nil:
		m.object(fValue, func() { m.ride(l.Ride) })
	case l.Payment != nil:
		m.object(fValue, func() { m.payment(l.Payment) })
	default:
		return dst, errors.New("a line without a record")
	}
	return append(m.dst, '}'), m.err
}

// members appends the members of one JSON object at a time.
type members struct {
	dst []byte
	err error // the first
}

func (m *members) telemetry(r *schemas.TelemetryRecord) {
	m.text(fEventID, string(r.EventID))
	m.text(fTripID, string(r.TripID))
	m.text(fDriverID, r.DriverID)
	m.integer(fAt, int64(r.At))
	m.float(fLat, r.Lat, 64)
	m.float(fLon, r.Lon, 64)
	m.optFloat32(fSpeedKmh, r.SpeedKmh)
	m.optFloat32(fPrecisionM, r.PrecisionM)
	optText(m, fDevice, r.Device)
	optText(m, fRectifies, r.Rectifies)
}

func (m *members) ride(r *schemas.RideRecord) {
	m.text(fEventID, string(r.EventID))
	m.text(fTripID, string(r.TripID))
	m.integer(fAt, int64(r.At))
	m.text(fKind, r.Kind)
	optText(m, fPassengerID, r.PassengerID)
	optText(m, fDriverID, r.DriverID)
	optText(m, fRegion, r.Region)
	optText(m, fCategory, r.Category)
	if r.Multiplier != nil {
		m.text(fMultiplier, r.Multiplier.String())
	}
	m.optFloat64(fLat, r.Lat)
	m.optFloat64(fLon, r.Lon)
	if r.Rating != nil {
		m.integer(fRating, int64(*r.Rating))
	}
	if r.Route != nil {
		m.route(r.Route)
	}
	optText(m, fRectifies, r.Rectifies)
}

func (m *members) route(route []schemas.LatLon) {
	m.name(fRoute)
	m.dst = append(m.dst, '[')
	for i, at := range route {
		if i > 0 {
			m.dst = append(m.dst, ',')
		}
		m.dst = append(m.dst, '{')
		m.float(fLat, at.Lat, 64)
		m.float(fLon, at.Lon, 64)
		m.dst = append(m.dst, '}')
	}
	m.dst = append(m.dst, ']')
}

func (m *members) payment(r *schemas.PaymentRecord) {
	m.text(fEventID, string(r.EventID))
	m.text(fTripID, string(r.TripID))
	m.integer(fAt, int64(r.At))
	m.text(fKind, r.Kind)
	m.text(fAmount, r.Amount.String())
	m.text(fCurrency, r.Currency)
	optText(m, fMeans, r.Means)
	optText(m, fCardID, r.CardID)
	optText(m, fRectifies, r.Rectifies)
	if r.Bill != nil {
		m.object(fBill, func() { m.bill(r.Bill) })
	}
}

func (m *members) bill(b *schemas.BillRecord) {
	m.integer(fVersion, int64(b.Version))
	m.integer(fDistanceMM, b.DistanceMM)
	m.integer(fDurationS, b.DurationS)
	m.text(fTariffID, b.TariffID)
	m.text(fRegion, b.Region)
	m.text(fCategory, b.Category)
	m.text(fMultiplier, b.Multiplier.String())
	m.integer(fStart, int64(b.Start))
	m.integer(fEnd, int64(b.End))
	m.integer(fPoints, int64(b.Points))
	m.integer(fRejected, int64(b.Rejected))
	m.name(fRectification)
	m.dst = strconv.AppendBool(m.dst, b.Rectification)
	optText(m, fMotive, b.Motive)
	if b.Difference != nil {
		m.text(fDifference, b.Difference.String())
	}
	m.integer(fCheckpointID, b.CheckpointID)
}

func (m *members) name(f field) {
	if m.dst[len(m.dst)-1] != '{' {
		m.dst = append(m.dst, ',')
	}
	m.dst = append(m.dst, '"')
	m.dst = append(m.dst, fieldNames[f]...)
	m.dst = append(m.dst, '"', ':')
}

func (m *members) object(f field, inside func()) {
	m.name(f)
	m.dst = append(m.dst, '{')
	inside()
	m.dst = append(m.dst, '}')
}

func (m *members) text(f field, s string) {
	m.name(f)
	var err error
	if m.dst, err = jsontext.AppendQuote(m.dst, s); err != nil && m.err == nil {
		m.err = fmt.Errorf("%s: not UTF-8: %q", fieldNames[f], s)
	}
}

func (m *members) integer(f field, n int64) {
	m.name(f)
	m.dst = strconv.AppendInt(m.dst, n, 10)
}

// float writes the shortest text that reads back to the same bits; see parseFloat for the
// strings.
func (m *members) float(f field, x float64, bits int) {
	switch {
	case math.IsNaN(x):
		m.text(f, "NaN")
	case math.IsInf(x, 1):
		m.text(f, "Infinity")
	case math.IsInf(x, -1):
		m.text(f, "-Infinity")
	default:
		m.name(f)
		m.dst = strconv.AppendFloat(m.dst, x, 'g', -1, bits)
	}
}

func (m *members) optFloat32(f field, x *float32) {
	if x != nil {
		m.float(f, float64(*x), 32)
	}
}

func (m *members) optFloat64(f field, x *float64) {
	if x != nil {
		m.float(f, *x, 64)
	}
}

func optText[S ~string](m *members, f field, s *S) {
	if s != nil {
		m.text(f, string(*s))
	}
}
