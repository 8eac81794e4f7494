package codec

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// field ties a field of the contract to where its value goes in a T.
type field[T any] struct {
	name string
	want want
	need need
	set  func(*T, value)

	// open, instead of set, prepares the reading of an array, map or record of the
	// writer's type n from its encoded bytes.
	open func(n *node) (func(*T, string) error, error)
}

// need says what becomes of a field that the writer does not have or writes as null. A
// field that is not set stays zero.
type need uint8

const (
	optional need = iota
	inSchema      // a writer schema without it is refused; null stays zero and is judged later
	always        // a null is refused as well
)

// plan is a writer's record compiled for reading into a T.
type plan[T any] struct {
	names []string // the writer's fields, in its order
	types []*node
	steps []step[T] // those kept
}

// step reads one field; those between it and the step before are skipped.
type step[T any] struct {
	at     int // of the writer's fields
	src    source
	need   need
	set    func(*T, value)
	nested func(*T, string) error
}

// compile makes the plan of record n, or says everything that keeps it from serving the
// contract.
func compile[T any](n *node, contract []field[T]) (*plan[T], error) {
	if n.kind != kindRecord {
		return nil, fmt.Errorf("top level is %s, not a record", n)
	}
	p := &plan[T]{names: n.names, types: n.items}
	var faults []string
	for _, f := range contract {
		at := slices.Index(n.names, f.name)
		if at < 0 {
			if f.need != optional {
				faults = append(faults, fmt.Sprintf("field %s is missing", f.name))
			}
			continue
		}
		s := step[T]{at: at, need: f.need, set: f.set}
		if err := s.bind(n.items[at], f); err != nil {
			faults = append(faults, fmt.Sprintf("field %s: %s", f.name, err))
		}
		p.steps = append(p.steps, s)
	}
	if faults != nil {
		return nil, errors.New(strings.Join(faults, "; "))
	}
	slices.SortFunc(p.steps, func(a, b step[T]) int { return a.at - b.at })
	return p, nil
}

func (s *step[T]) bind(n *node, f field[T]) (err error) {
	if s.src, err = resolve(n, f.want); err == nil && f.open != nil {
		s.nested, err = f.open(s.src.span())
	}
	return err
}

// run reads one encoded record, all of s, into a zero t. Strings in t alias s.
func (p *plan[T]) run(s string, t *T) error {
	c := cursor{s: s}
	next, start := 0, 0
	for i := range p.steps {
		st := &p.steps[i]
		if next, start = c.skipAll(p.types, next, st.at); c.err != nil {
			break
		}
		v := c.value(&st.src)
		switch {
		case c.err != nil:
		case v.null && st.need == always:
			c.err = ErrNull
		case v.null:
		case st.set != nil:
			st.set(t, v)
		default:
			c.err = st.nested(t, v.text)
		}
		if c.err != nil {
			break
		}
		next++
	}
	if c.err == nil {
		next, start = c.skipAll(p.types, next, len(p.types))
	}
	if c.err != nil {
		return fmt.Errorf("field %s at byte %d: %w", p.names[next], start, c.err)
	}
	if c.left() != 0 {
		return fmt.Errorf("%w: %d", ErrTrailing, c.left())
	}
	return nil
}
