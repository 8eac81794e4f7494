package checkpoint

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"taximeter/schemas"
)

// OutboxFormat is the newest version of an outbox's encoding. It rises with every field that
// the words of schemas.Outbox gain (a test compares); older ones stay readable. Format 1
// had no verdicts and no trips.
const OutboxFormat = 2

// outboxSinks is the first format with verdicts and trips.
const outboxSinks = 2

// outboxMagic begins every encoded outbox; the format follows as one varint.
const outboxMagic = "tmob"

// ErrOutbox is what every fault of an encoded outbox wraps.
var ErrOutbox = errors.New("not an encoded outbox")

// EncodeOutbox writes an outbox as all that speak the protocol read it: magic, format, then the counted bills, windows, dead
// letters, verdicts and trips, each field in the order of its struct. Integers are zigzag varints, texts and
// bytes are counted, floats are their eight bytes, optional fields follow a 0 or 1.
// Binary rather than JSON, because dead letters hold bytes that JSON would alter.
func EncodeOutbox(o schemas.Outbox, speaks Protocol) []byte {
	format := speaks.outboxFormat()
	w := make(outboxWriter, 0, 64+160*len(o.Bills)+96*len(o.Windows)+512*len(o.DeadLetters))
	w = append(w, outboxMagic...)
	w.int(format)
	w.int(int64(len(o.Bills)))
	for i := range o.Bills {
		w.bill(&o.Bills[i])
	}
	w.int(int64(len(o.Windows)))
	for i := range o.Windows {
		w.window(&o.Windows[i])
	}
	w.int(int64(len(o.DeadLetters)))
	for i := range o.DeadLetters {
		w.deadLetter(&o.DeadLetters[i])
	}
	if format < outboxSinks {
		return w
	}
	w.int(int64(len(o.Verdicts)))
	for i := range o.Verdicts {
		w.span(&o.Verdicts[i])
	}
	w.int(int64(len(o.Trips)))
	for i := range o.Trips {
		w.trip(&o.Trips[i])
	}
	return w
}

// DecodeOutbox reads what EncodeOutbox wrote. key names the object in errors. The result
// shares no memory with data.
func DecodeOutbox(key string, data []byte) (schemas.Outbox, error) {
	r := outboxReader{rest: data}
	if len(data) < len(outboxMagic) || string(data[:len(outboxMagic)]) != outboxMagic {
		return schemas.Outbox{}, fmt.Errorf("%s: %w", key, ErrOutbox)
	}
	r.rest = r.rest[len(outboxMagic):]
	format := r.int()
	if r.err == nil && format > OutboxFormat {
		return schemas.Outbox{}, &NewerFormatError{Key: key, Have: OutboxFormat, Want: int(format)}
	} else if r.err == nil && format < 1 {
		r.err = fmt.Errorf("%w: format %d never existed", ErrOutbox, format)
	}
	o := schemas.Outbox{
		Bills:       decodeAll(&r, (*outboxReader).bill),
		Windows:     decodeAll(&r, (*outboxReader).window),
		DeadLetters: decodeAll(&r, (*outboxReader).deadLetter),
	}
	if format >= outboxSinks {
		o.Verdicts = decodeAll(&r, (*outboxReader).span)
		o.Trips = decodeAll(&r, (*outboxReader).trip)
	}
	if r.err == nil && len(r.rest) > 0 {
		r.err = fmt.Errorf("%w: %d bytes after its end", ErrOutbox, len(r.rest))
	}
	if r.err != nil {
		return schemas.Outbox{}, fmt.Errorf("%s: %w", key, r.err)
	}
	return o, nil
}

func decodeAll[T any](r *outboxReader, one func(*outboxReader) T) []T {
	n := r.int()
	// Every item takes several bytes: a count beyond the bytes left is a fault, not a reason to
	// allocate.
	if r.err == nil && (n < 0 || n > int64(len(r.rest))) {
		r.err = fmt.Errorf("%w: a count of %d with %d bytes left", ErrOutbox, n, len(r.rest))
	}
	var items []T
	for ; n > 0 && r.err == nil; n-- {
		items = append(items, one(r))
	}
	return items
}

type outboxWriter []byte

func (w *outboxWriter) int(v int64) { *w = binary.AppendVarint(*w, v) }
func (w *outboxWriter) float(v float64) {
	*w = binary.LittleEndian.AppendUint64(*w, math.Float64bits(v))
}

func (w *outboxWriter) text(s string) {
	w.int(int64(len(s)))
	*w = append(*w, s...)
}

// bytes keeps nil apart from empty: a tombstone's value is null in Kafka.
func (w *outboxWriter) bytes(b []byte) {
	if b == nil {
		w.int(-1)
		return
	}
	w.int(int64(len(b)))
	*w = append(*w, b...)
}

func (w *outboxWriter) flag(v bool) {
	b := byte(0)
	if v {
		b = 1
	}
	*w = append(*w, b)
}

func (w *outboxWriter) optFloat(v *float64) {
	w.flag(v != nil)
	if v != nil {
		w.float(*v)
	}
}

func (w *outboxWriter) optMillis(v *schemas.Millis) {
	w.flag(v != nil)
	if v != nil {
		w.int(int64(*v))
	}
}

func (w *outboxWriter) bill(b *schemas.Bill) {
	w.text(string(b.TripID))
	w.text(string(b.EventID))
	w.int(int64(b.Version))
	w.int(int64(b.Amount))
	w.int(int64(b.Difference))
	w.text(b.Currency)
	w.int(b.DistanceMM)
	w.int(b.DurationS)
	w.text(b.TariffID)
	w.text(b.Region)
	w.text(b.Category)
	w.int(int64(b.Multiplier))
	w.int(int64(b.Start))
	w.int(int64(b.End))
	w.int(int64(b.Points))
	w.int(int64(b.Rejected))
	w.flag(b.Rectification)
	w.text(string(b.Motive))
}

func (w *outboxWriter) window(x *schemas.Window) {
	w.text(string(x.TripID))
	w.int(int64(x.Start))
	w.int(int64(x.Version))
	w.int(int64(x.Points))
	w.int(int64(x.Rejected))
	w.int(x.DistanceMM)
	w.int(x.TimeMS)
	w.optFloat(x.MaxKmh)
	w.optFloat(x.MeanKmh)
	w.optMillis(x.First)
	w.optMillis(x.Last)
	w.int(int64(x.Verdict))
}

func (w *outboxWriter) deadLetter(d *schemas.DeadLetter) {
	w.int(int64(d.Topic))
	w.int(int64(d.Partition))
	w.int(int64(d.Offset))
	w.int(int64(d.Reason))
	w.text(d.Detail)
	w.text(string(d.TripID))
	w.text(string(d.EventID))
	w.int(int64(d.AppendedAt))
	w.bytes(d.Key)
	w.bytes(d.Value)
}

func (w *outboxWriter) span(s *schemas.VerdictSpan) {
	w.int(int64(s.Topic))
	w.int(int64(s.First))
	w.int(int64(len(s.Runs)))
	for _, r := range s.Runs {
		w.int(int64(r.Verdict))
		w.int(r.Length)
	}
}

func (w *outboxWriter) trip(t *schemas.TripSummary) {
	w.text(string(t.TripID))
	w.text(t.Phase)
	w.text(t.Region)
	w.text(t.Category)
	w.int(int64(t.Start))
	w.int(int64(t.End))
	w.flag(t.StartInferred)
	w.int(t.DistanceMM)
	w.int(t.DurationS)
	w.int(int64(t.Points))
	w.int(int64(t.Rejected))
	w.int(int64(t.BillVersion))
	w.int(int64(t.Amount))
	w.text(t.Currency)
	w.text(string(t.Motive))
	w.text(t.Reconciliation)
}

// outboxReader consumes an encoded outbox; after the first fault it yields zeros.
type outboxReader struct {
	rest []byte
	err  error
}

func (r *outboxReader) int() int64 {
	if r.err != nil {
		return 0
	}
	v, n := binary.Varint(r.rest)
	if n <= 0 {
		r.err = fmt.Errorf("%w: it ends within a number", ErrOutbox)
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *outboxReader) take(n int64) []byte {
	if r.err == nil && (n < 0 || n > int64(len(r.rest))) {
		r.err = fmt.Errorf("%w: %d bytes due and %d left", ErrOutbox, n, len(r.rest))
	}
	if r.err != nil {
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *outboxReader) text() string { return string(r.take(r.int())) }

func (r *outboxReader) bytes() []byte {
	n := r.int()
	if n == -1 {
		return nil
	}
	b := r.take(n)
	if r.err != nil {
		return nil
	}
	return append(make([]byte, 0, len(b)), b...)
}

func (r *outboxReader) flag() bool {
	b := r.take(1)
	if r.err == nil && b[0] > 1 {
		r.err = fmt.Errorf("%w: a flag of %d", ErrOutbox, b[0])
	}
	return r.err == nil && b[0] == 1
}

func (r *outboxReader) optFloat() *float64 {
	if !r.flag() {
		return nil
	}
	b := r.take(8)
	if r.err != nil {
		return nil
	}
	v := math.Float64frombits(binary.LittleEndian.Uint64(b))
	return &v
}

func (r *outboxReader) optMillis() *schemas.Millis {
	if !r.flag() {
		return nil
	}
	v := schemas.Millis(r.int())
	return &v
}

// The fields of a composite literal are evaluated in order, as the specification demands of
// calls; the order is that of the writer.

func (r *outboxReader) bill() schemas.Bill {
	return schemas.Bill{
		TripID:        schemas.TripID(r.text()),
		EventID:       schemas.EventID(r.text()),
		Version:       int(r.int()),
		Amount:        schemas.Cents(r.int()),
		Difference:    schemas.Cents(r.int()),
		Currency:      r.text(),
		DistanceMM:    r.int(),
		DurationS:     r.int(),
		TariffID:      r.text(),
		Region:        r.text(),
		Category:      r.text(),
		Multiplier:    schemas.Mils(r.int()),
		Start:         schemas.Millis(r.int()),
		End:           schemas.Millis(r.int()),
		Points:        int(r.int()),
		Rejected:      int(r.int()),
		Rectification: r.flag(),
		Motive:        schemas.Motive(r.text()),
	}
}

func (r *outboxReader) window() schemas.Window {
	return schemas.Window{
		TripID:     schemas.TripID(r.text()),
		Start:      schemas.Millis(r.int()),
		Version:    int(r.int()),
		Points:     int(r.int()),
		Rejected:   int(r.int()),
		DistanceMM: r.int(),
		TimeMS:     r.int(),
		MaxKmh:     r.optFloat(),
		MeanKmh:    r.optFloat(),
		First:      r.optMillis(),
		Last:       r.optMillis(),
		Verdict:    schemas.Verdict(r.int()),
	}
}

func (r *outboxReader) deadLetter() schemas.DeadLetter {
	return schemas.DeadLetter{
		Topic:      schemas.Topic(r.int()),
		Partition:  schemas.Partition(r.int()),
		Offset:     schemas.Offset(r.int()),
		Reason:     schemas.Verdict(r.int()),
		Detail:     r.text(),
		TripID:     schemas.TripID(r.text()),
		EventID:    schemas.EventID(r.text()),
		AppendedAt: schemas.Millis(r.int()),
		Key:        r.bytes(),
		Value:      r.bytes(),
	}
}

func (r *outboxReader) span() schemas.VerdictSpan {
	return schemas.VerdictSpan{Topic: schemas.Topic(r.int()), First: schemas.Offset(r.int()), Runs: decodeAll(r, (*outboxReader).run)}
}

func (r *outboxReader) run() schemas.VerdictRun {
	return schemas.VerdictRun{Verdict: schemas.Verdict(r.int()), Length: r.int()}
}

func (r *outboxReader) trip() schemas.TripSummary {
	return schemas.TripSummary{
		TripID:         schemas.TripID(r.text()),
		Phase:          r.text(),
		Region:         r.text(),
		Category:       r.text(),
		Start:          schemas.Millis(r.int()),
		End:            schemas.Millis(r.int()),
		StartInferred:  r.flag(),
		DistanceMM:     r.int(),
		DurationS:      r.int(),
		Points:         int(r.int()),
		Rejected:       int(r.int()),
		BillVersion:    int(r.int()),
		Amount:         schemas.Cents(r.int()),
		Currency:       r.text(),
		Motive:         schemas.Motive(r.text()),
		Reconciliation: r.text(),
	}
}
