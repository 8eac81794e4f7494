package codec

import (
	"fmt"
	"math"

	"github.com/hamba/avro/v2"
)

type kind uint8

const (
	kindNull kind = iota
	kindBoolean
	kindInt
	kindLong
	kindFloat
	kindDouble
	kindBytes
	kindString
	kindFixed
	kindEnum
	kindUnion
	kindArray
	kindMap
	kindRecord
)

var kindNames = [...]string{"null", "boolean", "int", "long", "float", "double", "bytes", "string",
	"fixed", "enum", "union", "array", "map", "record"}

var primitives = map[avro.Type]kind{avro.Null: kindNull, avro.Boolean: kindBoolean, avro.Int: kindInt,
	avro.Long: kindLong, avro.Float: kindFloat, avro.Double: kindDouble, avro.Bytes: kindBytes, avro.String: kindString}

// node is one type of a writer schema. Recursive schemas make a graph with cycles.
type node struct {
	kind    kind
	min     int      // fewest bytes of an encoding; 0 = every encoding is empty
	size    int      // fixed: bytes
	logical string   // logical type as written, known or not; "" = none
	places  int      // decimal: precision; 0 = not a decimal
	scale   int      // decimal: scale
	symbols []string // enum
	names   []string // record: field names, beside items
	items   []*node  // record: its fields; union: its branches; array, map: the one of its values

	other    *node // of a union of null and one type: that type
	nullByte byte  // and the encoded index of null, 0 or 2
}

func (n *node) String() string {
	if n.logical != "" {
		return kindNames[n.kind] + " (" + n.logical + ")"
	}
	return kindNames[n.kind]
}

// endless is the min of a type that no finite encoding has, and the ceiling of sums.
const endless = math.MaxInt32

// parse builds the graph of a schema; references are the schemas of the named types
// that it uses without defining them, each after those it uses itself.
func parse(schema string, references []string) (*node, error) {
	cache := &avro.SchemaCache{} // of its own: the default one is shared by the whole process
	for i, r := range references {
		if _, err := avro.ParseWithCache(r, "", cache); err != nil {
			return nil, fmt.Errorf("%w: reference %d: %w", ErrSchema, i, err)
		}
	}
	parsed, err := avro.ParseWithCache(schema, "", cache)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSchema, err)
	}
	b := builder{records: map[string]*node{}}
	root, err := b.build(parsed)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSchema, err)
	}
	b.measure()
	if root.min == endless {
		return nil, fmt.Errorf("%w: a record contains itself without a union, array or map between: no value is finite", ErrSchema)
	}
	return root, nil
}

type builder struct {
	records map[string]*node // by full name, known before their fields are built
	nodes   []*node
}

func (b *builder) build(s avro.Schema) (*node, error) {
	if ref, ok := s.(*avro.RefSchema); ok {
		s = ref.Schema()
	}
	if rec, ok := s.(*avro.RecordSchema); ok && b.records[rec.FullName()] != nil {
		return b.records[rec.FullName()], nil
	}
	n := &node{min: endless}
	b.nodes = append(b.nodes, n)
	var items []avro.Schema
	switch s := s.(type) {
	case *avro.NullSchema:
	case *avro.PrimitiveSchema:
		n.kind = primitives[s.Type()]
		n.setLogical(s.Logical(), s)
	case *avro.FixedSchema:
		n.kind, n.size = kindFixed, s.Size()
		n.setLogical(s.Logical(), s)
		if n.size < 0 || n.size > maxLength {
			return nil, fmt.Errorf("fixed %s of %d bytes", s.FullName(), n.size)
		}
	case *avro.EnumSchema:
		n.kind, n.symbols = kindEnum, s.Symbols()
	case *avro.UnionSchema:
		n.kind, items = kindUnion, s.Types()
	case *avro.ArraySchema:
		n.kind, items = kindArray, []avro.Schema{s.Items()}
	case *avro.MapSchema:
		n.kind, items = kindMap, []avro.Schema{s.Values()}
	case *avro.RecordSchema:
		n.kind = kindRecord
		b.records[s.FullName()] = n
		seen := map[string]bool{}
		for _, f := range s.Fields() {
			if seen[f.Name()] {
				return nil, fmt.Errorf("record %s has two fields %s", s.FullName(), f.Name())
			}
			seen[f.Name()] = true
			n.names = append(n.names, f.Name())
			items = append(items, f.Type())
		}
	default:
		return nil, fmt.Errorf("type %s is not known", s.Type())
	}
	for _, it := range items {
		child, err := b.build(it)
		if err != nil {
			return nil, err
		}
		n.items = append(n.items, child)
	}
	if n.kind == kindUnion && len(n.items) == 2 {
		if n.items[0].kind == kindNull {
			n.other = n.items[1]
		} else if n.items[1].kind == kindNull {
			n.other, n.nullByte = n.items[0], 2
		}
	}
	return n, nil
}

// setLogical keeps the logical type also where the parser does not know it: a
// timestamp-nanos must not pass for a plain long.
func (n *node) setLogical(known avro.LogicalSchema, props avro.PropertySchema) {
	if d, ok := known.(*avro.DecimalLogicalSchema); ok {
		n.places, n.scale = d.Precision(), d.Scale()
	}
	if known != nil {
		n.logical = string(known.Type())
		return
	}
	n.logical, _ = props.Prop("logicalType").(string)
}

// measure finds every node's min: the least solution, by falling from endless until
// nothing falls any more.
func (b *builder) measure() {
	for changed := true; changed; {
		changed = false
		// Children mostly stand after their parents, so this direction settles in few rounds.
		for i := len(b.nodes) - 1; i >= 0; i-- {
			if m := b.nodes[i].leastBytes(); m < b.nodes[i].min {
				b.nodes[i].min, changed = m, true
			}
		}
	}
}

func (n *node) leastBytes() int {
	switch n.kind {
	case kindNull:
		return 0
	case kindFloat:
		return 4
	case kindDouble:
		return 8
	case kindFixed:
		return n.size
	case kindUnion:
		least := endless
		for _, it := range n.items {
			least = min(least, it.min)
		}
		return min(endless, 1+least)
	case kindRecord:
		sum := 0
		for _, it := range n.items {
			sum = min(endless, sum+it.min)
		}
		return sum
	}
	return 1
}
