package codec

import "fmt"

// skip validates one value of type n and passes over it. Nothing that a decode keeps is
// checked less than what it skips.
func (c *cursor) skip(n *node, depth int) {
	if n.min == 0 {
		return // every encoding is empty; walking it could take time without end
	}
	switch n.kind {
	case kindBoolean:
		c.boolean()
	case kindInt:
		c.int()
	case kindLong:
		c.long()
	case kindFloat:
		c.take(4)
	case kindDouble:
		c.take(8)
	case kindBytes:
		c.bytes()
	case kindString:
		c.text()
	case kindFixed:
		c.take(n.size)
	case kindEnum:
		c.index(len(n.symbols), ErrEnumIndex)
	default:
		c.skipNested(n, depth+1)
	}
}

// skipAll skips values of types[from:to]. It gives the index of the first not skipped, to
// unless there was a fault, and where that one begins.
//
// The short forms of the frequent types are taken in place; whatever is not of such a
// form goes to skip, which judges it.
func (c *cursor) skipAll(types []*node, from, to int) (next, start int) {
	s, i := c.s, c.i
	for ; from < to; from++ {
		start, n := i, types[from]
		if n.other != nil && i < len(s) {
			if s[i] == n.nullByte {
				i++
				continue
			}
			if s[i] == n.nullByte^2 {
				i++
				n = n.other
			}
		}
		switch n.kind {
		case kindString:
			length, head := shortLength(s, i)
			if end := i + head + length; head > 0 && end <= len(s) && validText(s[i+head:end]) {
				i = end
				continue
			}
		case kindDouble:
			if len(s)-i >= 8 {
				i += 8
				continue
			}
		case kindFloat:
			if len(s)-i >= 4 {
				i += 4
				continue
			}
		case kindInt, kindLong:
			if i < len(s) && s[i] < 0x80 {
				i++
				continue
			}
		}
		c.i = i
		if c.skip(n, 0); c.err != nil {
			return from, start
		}
		i = c.i
	}
	c.i = i
	return to, i
}

func (c *cursor) skipNested(n *node, depth int) {
	if c.tooDeep(depth) {
		return
	}
	switch n.kind {
	case kindUnion:
		if i := c.index(len(n.items), ErrUnionIndex); c.err == nil {
			c.skip(n.items[i], depth)
		}
	case kindRecord:
		for _, it := range n.items {
			if c.skip(it, depth); c.err != nil {
				return
			}
		}
	case kindArray, kindMap:
		item := n.items[0]
		for {
			count, end := c.block()
			if count == 0 {
				return
			}
			for range count {
				if n.kind == kindMap {
					c.text()
				} else if item.min == 0 {
					break
				}
				if c.skip(item, depth); c.err != nil {
					return
				}
			}
			c.closeBlock(end)
		}
	}
}

func (c *cursor) tooDeep(depth int) bool {
	if depth > maxDepth {
		c.fail(fmt.Errorf("%w: more than %d levels", ErrDepth, maxDepth))
	}
	return c.err != nil
}
