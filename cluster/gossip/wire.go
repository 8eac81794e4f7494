package gossip

import (
	"encoding/binary"
	"errors"
	"fmt"

	"taximeter/checkpoint"
	"taximeter/cluster"
)

// wireFormat is the version of what nodes say of themselves. Later ones may only append, so
// that older nodes read what they know; what must not be misread needs a higher
// cluster.Protocols instead.
const wireFormat = 1

var errWire = errors.New("not what a node says of itself")

// encode writes format and duty as bytes, then varints, then counted texts. The id is
// not in it: memberlist carries that.
func encode(m cluster.Member) []byte {
	w := []byte{wireFormat, byte(m.Duty)}
	w = binary.AppendVarint(w, m.Life)
	w = binary.AppendUvarint(w, uint64(m.Weight))
	w = binary.AppendUvarint(w, uint64(m.Speaks.Min))
	w = binary.AppendUvarint(w, uint64(m.Speaks.Max))
	for _, text := range []string{m.Remote, m.Admin, m.Version, m.Zone} {
		w = binary.AppendUvarint(w, uint64(len(text)))
		w = append(w, text...)
	}
	return w
}

func decode(id string, meta []byte) (cluster.Member, error) {
	m := cluster.Member{ID: checkpoint.NodeID(id)}
	if err := m.ID.Check(); err != nil {
		return cluster.Member{}, err
	}
	if len(meta) < 2 || meta[0] < 1 {
		return cluster.Member{}, errWire
	}
	r := reader{rest: meta[2:]}
	m.Duty = cluster.Duty(meta[1])
	m.Life = r.int()
	m.Weight = int(r.count(maxWeight))
	m.Speaks.Min, m.Speaks.Max = checkpoint.Protocol(r.count(1<<32-1)), checkpoint.Protocol(r.count(1<<32-1))
	m.Remote, m.Admin, m.Version, m.Zone = r.text(), r.text(), r.text(), r.text()
	switch {
	case r.failed:
		return cluster.Member{}, errWire
	case m.Duty >= cluster.Absent:
		return cluster.Member{}, fmt.Errorf("%w: duty %d", errWire, m.Duty)
	default:
		return m, nil
	}
}

// maxWeight keeps partitions times weight within an int64 by far.
const maxWeight = 1 << 20

type reader struct {
	rest   []byte
	failed bool
}

func (r *reader) took(n int) bool {
	if r.failed || n <= 0 {
		r.failed = true
		return false
	}
	r.rest = r.rest[n:]
	return true
}

func (r *reader) int() int64 {
	v, n := binary.Varint(r.rest)
	if !r.took(n) {
		return 0
	}
	return v
}

func (r *reader) count(most uint64) uint64 {
	v, n := binary.Uvarint(r.rest)
	if !r.took(n) || v > most {
		r.failed = true
		return 0
	}
	return v
}

func (r *reader) text() string {
	n := r.count(uint64(len(r.rest)))
	if r.failed || n > uint64(len(r.rest)) {
		r.failed = true
		return ""
	}
	text := string(r.rest[:n])
	r.rest = r.rest[n:]
	return text
}
