package codec

import (
	"fmt"
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
type plan[T any] struct{ steps []step[T] }

// step reads or skips one field, in the writer's order.
type step[T any] struct {
	name   string
	node   *node
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
	p := &plan[T]{steps: make([]step[T], len(n.names))}
	at := map[string]int{}
	for i, name := range n.names {
		p.steps[i] = step[T]{name: name, node: n.items[i]}
		at[name] = i
	}
	var faults []string
	for _, f := range contract {
		i, ok := at[f.name]
		if !ok {
			if f.need != optional {
				faults = append(faults, fmt.Sprintf("field %s is missing", f.name))
			}
			continue
		}
		if err := p.steps[i].bind(f); err != nil {
			faults = append(faults, fmt.Sprintf("field %s: %s", f.name, err))
		}
	}
	if faults != nil {
		return nil, fmt.Errorf("%s", strings.Join(faults, "; "))
	}
	return p, nil
}

func (s *step[T]) bind(f field[T]) (err error) {
	if s.src, err = resolve(s.node, f.want); err != nil {
		return err
	}
	s.set, s.need = f.set, f.need
	if f.open != nil {
		s.nested, err = f.open(s.src.span())
	}
	return err
}

// run reads one encoded record, all of s, into a zero t. Strings in t alias s.
func (p *plan[T]) run(s string, t *T) error {
	c := cursor{s: s}
	for i := range p.steps {
		st := &p.steps[i]
		start := c.i
		switch {
		case st.set != nil:
			if v := c.value(&st.src); c.err != nil {
			} else if !v.null {
				st.set(t, v)
			} else if st.need == always {
				c.fail(ErrNull)
			}
		case st.nested != nil:
			if v := c.value(&st.src); c.err == nil && !v.null {
				c.err = st.nested(t, v.text)
			}
		default:
			c.skip(st.node, 0)
		}
		if c.err != nil {
			return fmt.Errorf("field %s at byte %d: %w", st.name, start, c.err)
		}
	}
	if c.left() != 0 {
		return fmt.Errorf("%w: %d", ErrTrailing, c.left())
	}
	return nil
}
