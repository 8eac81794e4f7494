package partition

import (
	"encoding/binary"
	"fmt"
	"math"

	"taximeter/actors/trip"
	"taximeter/schemas"
)

// Layout is where the rows of trips lie that are stored for the first time. What an earlier
// layout has stored stays where it is until it expires.
type Layout uint8

const (
	// ByID: a trip's head and points lie under its id.
	ByID Layout = iota + 1
	// ByAge: they lie behind those of all trips stored earlier, and a pointer under the id.
	// So what a seal writes lies together, at the young end and where old trips are dropped,
	// and a compaction of the store leaves what lies between alone.
	ByAge
)

// SetLayout says where the seals from now on put new trips. It never goes back: whoever
// reads a later layout's rows reads those of the earlier too.
func (p *Partition) SetLayout(l Layout) { p.layout = max(p.layout, l) }

// place is where a trip's rows lie.
type place uint32

const (
	nowhere place = iota // it was never stored
	underID
	firstAge // this and all above: minutes of event time since 1970 at which it was first stored
)

// place of a trip that is stored for the first time.
func (l Layout) place(watermark schemas.Millis) place {
	if l < ByAge {
		return underID
	}
	return place(min(max(int64(watermark/schemas.Minute), int64(firstAge)), math.MaxUint32))
}

// appendHeadKey is the key of a trip's head; its points follow it.
func (at place) appendHeadKey(dst []byte, id schemas.TripID) []byte {
	if at < firstAge {
		return appendTripKey(dst, id)
	}
	return appendID(binary.BigEndian.AppendUint32(append(dst, prefixAge...), uint32(at)), id)
}

// parseRowKey reads what appendHeadKey and pointsKey wrote; part is -1 of a head.
func parseRowKey(k []byte) (at place, id schemas.TripID, part int, ok bool) {
	switch {
	case len(k) >= len(prefixAge)+4 && string(k[:len(prefixAge)]) == prefixAge:
		k = k[len(prefixAge):]
		at, k = place(binary.BigEndian.Uint32(k)), k[4:]
	case len(k) >= len(prefixRow) && string(k[:len(prefixRow)]) == prefixRow:
		at, k = underID, k[len(prefixRow):]
	}
	length, n := binary.Uvarint(k)
	if at == nowhere || n <= 0 || length > uint64(len(k)-n) {
		return nowhere, "", 0, false
	}
	id, k = schemas.TripID(k[n:n+int(length)]), k[n+int(length):]
	switch len(k) {
	case 0:
		return at, id, -1, true
	case 4:
		return at, id, int(binary.BigEndian.Uint32(k)), true
	}
	return nowhere, id, 0, false
}

func (at place) pointsKey(id schemas.TripID, part int) []byte {
	return binary.BigEndian.AppendUint32(at.appendHeadKey(newKey(id), id), uint32(part))
}

// elsewhere stands where a head has the number of its rows of points.
const elsewhere = trip.MaxParts + 1

func (at place) appendPointer(dst []byte) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(dst, elsewhere), uint64(at))
}

// stored are a trip's rows but its points.
type stored struct {
	place place
	parts int // rows of points
	head  []byte
}

// find reads a trip's head; found is false when there is none.
func find(store Store, id schemas.TripID) (r stored, found bool, err error) {
	row, found, err := store.Get(TripKey(id))
	if err != nil || !found {
		return r, false, err
	}
	r.place = underID
	parts, n := binary.Uvarint(row)
	if parts == elsewhere {
		at, w := binary.Uvarint(row[n:])
		if w <= 0 || at < uint64(firstAge) || at > math.MaxUint32 {
			return r, false, fmt.Errorf("trip %q: the pointer to its rows is damaged", id)
		}
		r.place = place(at)
		if row, found, err = store.Get(r.place.appendHeadKey(newKey(id), id)); err != nil {
			return r, false, err
		} else if !found {
			return r, false, fmt.Errorf("trip %q: its head row is missing", id)
		}
		parts, n = binary.Uvarint(row)
	}
	if n <= 0 || parts > trip.MaxParts {
		return r, false, fmt.Errorf("trip %q: its head row is damaged", id)
	}
	r.parts, r.head = int(parts), row[n:]
	return r, true, nil
}

// Keys of the rows, within the partition's store.
const (
	keyHeader = "h"
	prefixDue = "d/"
	prefixRow = "t/"
	prefixAge = "v/"
	signBit   = 1 << 63 // flipped, signed instants sort as unsigned bytes
)

// HeaderKey is the row that Restore reads.
func HeaderKey() []byte { return []byte(keyHeader) }

// TripKey is the row by which a trip is found: its head, or a pointer to where it lies.
func TripKey(id schemas.TripID) []byte { return appendTripKey(newKey(id), id) }

// newKey has room for any key of a trip's rows.
func newKey(id schemas.TripID) []byte {
	const around = len(prefixAge) + 4 + binary.MaxVarintLen16 + 4 // minute, length, part
	return make([]byte, 0, around+len(id))
}

func appendTripKey(dst []byte, id schemas.TripID) []byte {
	return appendID(append(dst, prefixRow...), id)
}

// appendID has the length in front, which keeps the rows of a trip whose id begins with
// another's apart.
func appendID(dst []byte, id schemas.TripID) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(id))), id...)
}

// DueKey is the row that lists a trip to be woken; it sorts as (Due, ID) does.
func DueKey(d DueTrip) []byte { return appendDueKey(nil, d) }

func appendDueKey(dst []byte, d DueTrip) []byte {
	return append(binary.BigEndian.AppendUint64(append(dst, prefixDue...), uint64(d.Due)^signBit), d.ID...)
}

// DueEnd lies after every DueKey.
func DueEnd() []byte { return []byte(prefixDue[:len(prefixDue)-1] + "0") } // '0' follows '/'

// ParseDueKey reads what DueKey wrote.
func ParseDueKey(k []byte) (DueTrip, bool) {
	if len(k) < len(prefixDue)+8 || string(k[:len(prefixDue)]) != prefixDue {
		return DueTrip{}, false
	}
	k = k[len(prefixDue):]
	return DueTrip{schemas.Millis(binary.BigEndian.Uint64(k) ^ signBit), schemas.TripID(k[8:])}, true
}
