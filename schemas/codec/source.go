package codec

import (
	"fmt"
	"strings"

	"taximeter/schemas"
)

// want is the type that the contract gives a field.
type want struct {
	shape   shape
	logical string // logical type a writer may give it; none is always allowed
	scale   int    // decimals
	max     int64  // decimals: greatest |unscaled value|
}

type shape uint8

const (
	shapeText shape = iota
	shapeSymbol
	shapeInt
	shapeLong
	shapeFloat
	shapeDouble
	shapeBoolean
	shapeDecimal
	shapeArray
	shapeMap
	shapeRecord
)

var (
	wantText    = want{shape: shapeText, logical: "uuid"}
	wantSymbol  = want{shape: shapeSymbol}
	wantInt     = want{shape: shapeInt}
	wantLong    = want{shape: shapeLong}
	wantInstant = want{shape: shapeLong, logical: "timestamp-millis"}
	wantFloat   = want{shape: shapeFloat}
	wantDouble  = want{shape: shapeDouble}
	wantBoolean = want{shape: shapeBoolean}
	wantCents   = want{shape: shapeDecimal, logical: "decimal", scale: schemas.CentsScale, max: int64(schemas.MaxCents)}
	wantMils    = want{shape: shapeDecimal, logical: "decimal", scale: schemas.MilsScale, max: int64(schemas.MaxMils)}
	wantMicros  = want{shape: shapeDecimal, logical: "decimal", scale: schemas.MicrosScale, max: int64(schemas.MaxMicros)}
	wantArray   = want{shape: shapeArray}
	wantMap     = want{shape: shapeMap}
	wantRecord  = want{shape: shapeRecord}
)

func (w want) String() string {
	name := [...]string{"string", "enum", "int", "long", "float", "double", "boolean", "bytes", "array", "map", "record"}[w.shape]
	if w.logical != "" {
		return name + " (" + w.logical + ")"
	}
	return name
}

// value is one field read, in the member that its want asks for.
type value struct {
	null bool
	text string  // strings, enum symbols; of arrays, maps and records the encoded bytes
	long int64   // int, long, instants, unscaled decimals; boolean as 0 or 1
	real float64 // float, double
}

type op uint8

const (
	opUnfit op = iota // a union branch the contract cannot take
	opNull
	opUnion
	opText
	opSymbol
	opInt
	opLong
	opFloat
	opDouble
	opIntToReal
	opLongToReal
	opBoolean
	opDecimal
	opSpan
)

// source reads a want from the writer's type.
type source struct {
	op       op
	node     *node
	branches []source // opUnion
	rescale  rescale  // opDecimal
}

// promotions is what Avro's schema resolution lets a reader of a shape read.
var promotions = map[shape]map[kind]op{
	shapeText:    {kindString: opText, kindBytes: opText},
	shapeSymbol:  {kindEnum: opSymbol},
	shapeInt:     {kindInt: opInt},
	shapeLong:    {kindLong: opLong, kindInt: opInt},
	shapeFloat:   {kindFloat: opFloat, kindInt: opIntToReal, kindLong: opLongToReal},
	shapeDouble:  {kindDouble: opDouble, kindFloat: opFloat, kindInt: opIntToReal, kindLong: opLongToReal},
	shapeBoolean: {kindBoolean: opBoolean},
	shapeDecimal: {kindBytes: opDecimal, kindFixed: opDecimal},
	shapeArray:   {kindArray: opSpan},
	shapeMap:     {kindMap: opSpan},
	shapeRecord:  {kindRecord: opSpan},
}

// resolve matches the writer's type with the contract's. A writer's union is matched
// branch by branch, whether or not the contract's type is nullable; one fit branch that
// is not null is enough, and a value of an unfit one is refused when it comes.
func resolve(n *node, w want) (source, error) {
	if n.kind != kindUnion {
		return resolvePlain(n, w)
	}
	s := source{op: opUnion, node: n, branches: make([]source, len(n.items))}
	var faults []string
	fit := false
	for i, it := range n.items {
		var err error
		if it.kind == kindNull {
			s.branches[i] = source{op: opNull, node: it}
		} else if s.branches[i], err = resolvePlain(it, w); err != nil {
			faults = append(faults, err.Error())
		} else if fit && s.branches[i].op == opSpan {
			s.branches[i] = source{node: it} // one reading of the encoded bytes, that of the first
		} else {
			fit = true
		}
	}
	if !fit {
		return source{}, fmt.Errorf("no branch of the union fits %s: %s", w, strings.Join(faults, ", "))
	}
	return s, nil
}

func resolvePlain(n *node, w want) (source, error) {
	s := source{op: promotions[w.shape][n.kind], node: n}
	mismatch := s.op == opUnfit
	if n.logical != "" && n.logical != w.logical || s.op == opDecimal && n.places == 0 {
		mismatch = true
	}
	if mismatch {
		return source{node: n}, fmt.Errorf("%s cannot be read as %s", n, w)
	}
	if s.op == opDecimal {
		if n.scale > maxScale {
			return source{node: n}, fmt.Errorf("decimal of scale %d, more than %d", n.scale, maxScale)
		}
		s.rescale = newRescale(n.scale, w.scale, w.max)
	}
	return s, nil
}

// span finds the writer's type of an array, map or record: of a union, its first fit branch.
func (s *source) span() *node {
	for i := range s.branches {
		if s.branches[i].op == opSpan {
			return s.branches[i].node
		}
	}
	return s.node
}

// value reads what the writer wrote for one want.
func (c *cursor) value(s *source) (v value) {
	switch s.op {
	case opText:
		v.text = c.text()
	case opLong:
		v.long = c.long()
	case opDouble:
		v.real = c.double()
	case opFloat:
		v.real = float64(c.float())
	case opUnion:
		if i := c.index(len(s.branches), ErrUnionIndex); c.err == nil {
			return c.value(&s.branches[i])
		}
	case opNull:
		v.null = true
	case opSymbol:
		if i := c.index(len(s.node.symbols), ErrEnumIndex); c.err == nil {
			v.text = s.node.symbols[i]
		}
	case opInt:
		v.long = int64(c.int())
	case opIntToReal:
		v.real = float64(c.int())
	case opLongToReal:
		v.real = float64(c.long())
	case opBoolean:
		if c.boolean() {
			v.long = 1
		}
	case opDecimal:
		raw := ""
		if s.node.kind == kindFixed {
			raw = c.take(s.node.size)
		} else {
			raw = c.bytes()
		}
		if c.err == nil {
			v.long = c.decimal(raw, &s.rescale)
		}
	case opSpan:
		start := c.i
		c.skip(s.node, 0)
		v.text = c.s[start:c.i]
	default:
		c.fail(fmt.Errorf("%w: %s", ErrBranch, s.node))
	}
	return v
}
