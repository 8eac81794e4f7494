package codec

import (
	"fmt"

	"taximeter/schemas"
)

// The opens of the contracts' arrays, maps and records. They get the encoded bytes after
// these were validated, so what they still refuse is what the contract cannot take.

func openRecord[T, R any](contract []field[R], set func(*T, *R)) func(*node) (func(*T, string) error, error) {
	return func(n *node) (func(*T, string) error, error) {
		p, err := compile(n, contract)
		if err != nil {
			return nil, err
		}
		return func(t *T, s string) error {
			r := new(R)
			set(t, r)
			return p.run(s, r)
		}, nil
	}
}

func openRoute[T any](set func(*T, []schemas.LatLon)) func(*node) (func(*T, string) error, error) {
	return func(n *node) (func(*T, string) error, error) {
		item, err := resolve(n.items[0], wantRecord)
		if err != nil {
			return nil, fmt.Errorf("items: %w", err)
		}
		p, err := compile(item.span(), pointFields())
		if err != nil {
			return nil, fmt.Errorf("items: %w", err)
		}
		return func(t *T, s string) error {
			c := cursor{s: s}
			const pointBytes = 16 // two doubles, or more where the writer has more fields
			route := make([]schemas.LatLon, 0, len(s)/pointBytes)
			c.each(n, &item, func(_ string, v value) {
				route = append(route, schemas.LatLon{})
				c.fail(p.run(v.text, &route[len(route)-1]))
			})
			set(t, route)
			return c.err
		}, nil
	}
}

func openTexts[T any](set func(*T, []string)) func(*node) (func(*T, string) error, error) {
	return func(n *node) (func(*T, string) error, error) {
		item, err := resolve(n.items[0], wantText)
		if err != nil {
			return nil, fmt.Errorf("items: %w", err)
		}
		return func(t *T, s string) error {
			c := cursor{s: s}
			texts := []string{}
			c.each(n, &item, func(_ string, v value) { texts = append(texts, v.text) })
			set(t, texts)
			return c.err
		}, nil
	}
}

func openTextMap[T any](set func(*T, map[string]string)) func(*node) (func(*T, string) error, error) {
	return func(n *node) (func(*T, string) error, error) {
		item, err := resolve(n.items[0], wantText)
		if err != nil {
			return nil, fmt.Errorf("values: %w", err)
		}
		return func(t *T, s string) error {
			c := cursor{s: s}
			texts := map[string]string{}
			c.each(n, &item, func(key string, v value) { texts[key] = v.text })
			set(t, texts)
			return c.err
		}, nil
	}
}

// each calls got with every item of an array or value of a map of type n.
func (c *cursor) each(n *node, item *source, got func(key string, v value)) {
	for {
		count, end := c.block()
		if count == 0 {
			return
		}
		for range count {
			key := ""
			if n.kind == kindMap {
				key = c.text()
			}
			v := c.value(item)
			if v.null {
				c.fail(ErrNull)
			}
			if c.err != nil {
				return
			}
			if got(key, v); c.err != nil {
				return
			}
		}
		c.closeBlock(end)
	}
}
