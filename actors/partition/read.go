package partition

import (
	"encoding/binary"
	"encoding/json"
	"fmt"

	"taximeter/actors/trip"
	"taximeter/schemas"
)

// Standing is what the header of a cut tells of the partition.
type Standing struct {
	Positions [schemas.NumInputs]Position
	Watermark schemas.Millis
	Ledger    Ledger
}

// ReadHeader reads the row at HeaderKey without a partition to make of it.
func ReadHeader(head []byte, id schemas.Partition) (Standing, error) {
	h, err := readHeader(head, id)
	return Standing{h.Positions, h.Watermark, h.ledger()}, err
}

// ParseTripKey reads what TripKey wrote; false for every other row, those of a trip's
// points too.
func ParseTripKey(k []byte) (schemas.TripID, bool) {
	if len(k) < len(prefixRow) || string(k[:len(prefixRow)]) != prefixRow {
		return "", false
	}
	length, n := binary.Uvarint(k[len(prefixRow):])
	if n <= 0 || length != uint64(len(k)-len(prefixRow)-n) {
		return "", false
	}
	return schemas.TripID(k[len(prefixRow)+n:]), true
}

// TripKeys are the keys [start, end) of the rows by which trips are found. Those that lie under
// their ids have their points there too.
func TripKeys() (start, end []byte) { return keysOf(prefixRow) }

// AgeKeys are the keys [start, end) of the rows of trips that lie by age.
func AgeKeys() (start, end []byte) { return keysOf(prefixAge) }

func keysOf(prefix string) (start, end []byte) {
	return []byte(prefix), []byte(prefix[:len(prefix)-1] + "0") // '0' follows '/'
}

// Knows reports whether a trip, found by its id, knows of a row of TripKeys or AgeKeys as one of
// its own. In a store to which whole seals were applied each row is known.
func Knows(store Store, key []byte) (id schemas.TripID, known bool, err error) {
	if id, ok := ParseTripKey(key); ok {
		_, known, err = find(store, id)
		return id, known, err
	}
	at, id, part, ok := parseRowKey(key)
	if !ok {
		return id, false, nil
	}
	rows, found, err := find(store, id)
	return id, found && rows.place == at && part < rows.parts, err
}

// Imbalance is how many offsets the ledger does not account for; 0 in every sound state.
func (s Standing) Imbalance() int64 {
	offsets := int64(0)
	for _, pos := range s.Positions {
		offsets += int64(pos.Next-pos.First) - pos.Control - pos.Skipped
	}
	for _, n := range s.Ledger.Verdicts {
		offsets -= n
	}
	return offsets
}

func readHeader(head []byte, id schemas.Partition) (h header, err error) {
	if err := json.Unmarshal(head, &h); err != nil {
		return h, fmt.Errorf("partition %d: state header: %w", id, err)
	}
	if h.Format > HeaderFormat {
		return h, fmt.Errorf("partition %d: state header of format %d, this program reads up to %d: %w", id, h.Format, HeaderFormat, ErrNewerFormat)
	}
	if h.Partition != id {
		return h, fmt.Errorf("partition %d: the state is that of partition %d", id, h.Partition)
	}
	return h, nil
}

func (h *header) ledger() (l Ledger) {
	for v := range l.Verdicts {
		l.Verdicts[v] = h.Verdicts[schemas.Verdict(v).String()]
	}
	for k := range l.Anomalies {
		l.Anomalies[k] = h.Anomalies[schemas.AnomalyKind(k).String()]
	}
	return l
}

// ReadTrip reads a trip's rows; nil when they are not there.
func ReadTrip(store Store, id schemas.TripID) (*trip.State, error) {
	t, _, err := readTrip(store, id)
	return t, err
}

func readTrip(store Store, id schemas.TripID) (*trip.State, place, error) {
	rows, found, err := find(store, id)
	if err != nil || !found {
		return nil, nowhere, err
	}
	points, err := readPoints(store, rows.place, id, rows.parts)
	if err != nil {
		return nil, nowhere, err
	}
	t, err := trip.RestoreParts(rows.head, points...)
	return t, rows.place, err
}

// readPoints reads so many rows of a trip's points, from the first.
func readPoints(store Store, at place, id schemas.TripID, count int) ([][]byte, error) {
	points := make([][]byte, count)
	for i := range points {
		var found bool
		var err error
		if points[i], found, err = store.Get(at.pointsKey(id, i)); err != nil {
			return nil, err
		} else if !found {
			return nil, fmt.Errorf("trip %q: row %d of %d of its points is missing", id, i, count)
		}
	}
	return points, nil
}
