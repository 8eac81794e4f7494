package rule

import (
	"slices"
	"strings"

	"taximeter/schemas"
)

// Memory is what a trip's rules remember between events: their open episodes and the facts
// already told. The zero Memory remembers nothing. It belongs to the trip's owner and must
// not be copied once used.
//
// It is bounded: one episode per rule of the book, and maxCharges charges.
type Memory struct {
	book *Book // the last one used, whose rule ids the episodes share; nil after Decode

	newestPoint schemas.Millis // event time up to which points have moved episodes; 0 = none has
	newestEvent schemas.Millis // the newest event time an expression was decided at

	episodes []episode // by ascending ruleID, at most one per rule
	charges  *[]charge // oldest first; nil as long as there was none, as in nearly all trips
}

// episode is one stretch during which a rule's condition holds.
type episode struct {
	ruleID string
	kind   kind // none = over; the slot is kept for its buffer
	fired  bool
	count  int32  // points of the run so far (desvio, velocidade)
	onset  []byte // event id, packed; the slot's own buffer, used again and again
	// onsetAt is the onset's event time. Of a silence, which exists only once told, it is
	// the instant at which it became one.
	onsetAt schemas.Millis
	place   schemas.LatLon // of the onset (parada)
}

// charge is the onset of a double charge that was told.
type charge struct {
	ruleID string
	onset  schemas.EventID
}

// maxCharges bounds the double charges remembered per trip. Past it the oldest is forgotten,
// which can at worst tell it again under the same alert id.
const maxCharges = 64

// Look reads a little of the episodes, which brings them near the processor; the result means nothing.
func (m *Memory) Look() (seen schemas.Millis) {
	for i := range m.episodes {
		seen ^= m.episodes[i].onsetAt
	}
	return seen
}

// begin opens an episode at an event.
func (e *episode) begin(k kind, id schemas.EventID, at schemas.Millis, place schemas.LatLon) {
	e.kind, e.fired, e.count = k, false, 0
	e.onset = schemas.AppendPacked(e.onset[:0], id)
	e.onsetAt, e.place = at, place
}

func (e *episode) end() { e.kind = none }

// onsetID is the text of the onset's id.
func (e *episode) onsetID() schemas.EventID {
	var text [64]byte
	return schemas.EventID(schemas.AppendUnpacked(text[:0], e.onset))
}

// watches reports whether the book has rules of these kinds, and makes the memory fit it.
func (m *Memory) watches(b *Book, kinds kind) bool {
	if m.book != b {
		m.adopt(b)
	}
	return b.kinds&kinds != 0
}

// adopt forgets what belongs to rules that are no longer in the book.
func (m *Memory) adopt(b *Book) {
	m.book = b
	m.episodes = slices.DeleteFunc(m.episodes, func(e episode) bool {
		f := b.find(e.ruleID)
		return f == nil || e.kind&f.kinds == 0
	})
	for i := range m.episodes {
		m.episodes[i].ruleID = b.find(m.episodes[i].ruleID).id // share the book's string
	}
	if m.charges == nil {
		return
	}
	*m.charges = slices.DeleteFunc(*m.charges, func(c charge) bool { return b.find(c.ruleID) == nil })
	for i := range *m.charges {
		c := &(*m.charges)[i]
		c.ruleID = b.find(c.ruleID).id
	}
}

// told are the double charges remembered.
func (m *Memory) told() []charge {
	if m.charges == nil {
		return nil
	}
	return *m.charges
}

func (m *Memory) setTold(charges []charge) {
	if m.charges == nil {
		m.charges = new([]charge)
	}
	*m.charges = charges
}

func (b *Book) find(ruleID string) *family {
	i, ok := slices.BinarySearchFunc(b.families, ruleID, func(f family, id string) int { return strings.Compare(f.id, id) })
	if !ok {
		return nil
	}
	return &b.families[i]
}

// cursor walks a memory's episodes beside the book's families, both by ascending rule id.
type cursor struct {
	m    *Memory
	next int
}

// seek finds the rule's slot; nil = it has none. Rules must be sought in ascending order.
func (c *cursor) seek(ruleID string) *episode {
	for ; c.next < len(c.m.episodes); c.next++ {
		e := &c.m.episodes[c.next]
		if e.ruleID == ruleID {
			return e
		}
		if e.ruleID > ruleID {
			return nil
		}
	}
	return nil
}

// open gives the slot of the rule last sought, making it when e says that there was none.
func (c *cursor) open(e *episode, ruleID string) *episode {
	if e == nil {
		c.m.episodes = slices.Insert(c.m.episodes, c.next, episode{ruleID: ruleID})
		e = &c.m.episodes[c.next]
	}
	return e
}

// endUnless ends an open episode of these kinds that the version now in force does not
// continue: nil when the rule is off or does not concern the trip, or of another kind.
func endUnless(v *version, e *episode, kinds kind) {
	if e != nil && e.kind&kinds != 0 && (v == nil || v.kind != e.kind) {
		e.end()
	}
}
