package codec

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"

	"pgregory.net/rapid"

	"taximeter/schemas"
)

// avroType is a random writer type: its schema, and a writer of random values of it that
// shares no code with the package or with the libraries compared.
type avroType struct {
	schema any
	write  func(t *rapid.T, b []byte) []byte
}

func varint(b []byte, v int64) []byte { return binary.AppendVarint(b, v) }

func lengthed(b []byte, s string) []byte { return append(varint(b, int64(len(s))), s...) }

func someText(t *rapid.T) string { return rapid.StringN(0, 9, -1).Draw(t, "text") }

func primitive(name string) avroType {
	return avroType{name, func(t *rapid.T, b []byte) []byte {
		switch name {
		case "boolean":
			return append(b, byte(rapid.IntRange(0, 1).Draw(t, name)))
		case "int":
			return varint(b, int64(rapid.Int32().Draw(t, name)))
		case "long":
			return varint(b, rapid.Int64().Draw(t, name))
		case "float":
			return binary.LittleEndian.AppendUint32(b, math.Float32bits(rapid.Float32().Draw(t, name)))
		case "double":
			return binary.LittleEndian.AppendUint64(b, math.Float64bits(rapid.Float64().Draw(t, name)))
		case "bytes", "string": // both valid UTF-8, so that bytes may be read as string
			return lengthed(b, someText(t))
		}
		return b // null
	}}
}

func logical(base, name string) avroType {
	p := primitive(base)
	p.schema = map[string]any{"type": base, "logicalType": name}
	return p
}

// decimalOf writes values that often fit the contract's scale and often do not.
func decimalOf(t *rapid.T, fixedName string) avroType {
	scale := rapid.IntRange(0, 20).Draw(t, "scale")
	schema := map[string]any{"logicalType": "decimal", "precision": 38, "scale": scale}
	size := 0
	if rapid.Bool().Draw(t, "fixed") {
		size = 17
		schema["type"], schema["name"], schema["size"] = "fixed", fixedName, size
	} else {
		schema["type"] = "bytes"
	}
	return avroType{schema, func(t *rapid.T, b []byte) []byte {
		v := big.NewInt(rapid.OneOf(rapid.Int64(), rapid.Int64Range(-3000, 3000)).Draw(t, "unscaled"))
		zeros := rapid.IntRange(0, scale).Draw(t, "zeros")
		v.Mul(v, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(zeros)), nil))
		n := v.BitLen()/8 + 1 // with room for the sign
		if n += rapid.IntRange(0, 3).Draw(t, "pad"); size > 0 {
			n = size
		}
		if v.Sign() < 0 {
			v.Add(v, new(big.Int).Lsh(big.NewInt(1), uint(8*n)))
		}
		raw := v.FillBytes(make([]byte, n))
		if size > 0 {
			return append(b, raw...)
		}
		return lengthed(b, string(raw))
	}}
}

func unionOf(branches ...avroType) avroType {
	var schema []any
	for _, br := range branches {
		schema = append(schema, br.schema)
	}
	return avroType{schema, func(t *rapid.T, b []byte) []byte {
		i := rapid.IntRange(0, len(branches)-1).Draw(t, "branch")
		return branches[i].write(t, varint(b, int64(i)))
	}}
}

// blocks writes items in blocks of either form.
func blocks(t *rapid.T, b []byte, item func(t *rapid.T, b []byte) []byte) []byte {
	for range rapid.IntRange(0, 2).Draw(t, "blocks") {
		n := rapid.IntRange(1, 3).Draw(t, "items")
		var body []byte
		for range n {
			body = item(t, body)
		}
		if rapid.Bool().Draw(t, "sized") {
			b = varint(varint(b, int64(-n)), int64(len(body)))
		} else {
			b = varint(b, int64(n))
		}
		b = append(b, body...)
	}
	return varint(b, 0)
}

func arrayOf(item avroType) avroType {
	return avroType{map[string]any{"type": "array", "items": item.schema}, func(t *rapid.T, b []byte) []byte {
		return blocks(t, b, item.write)
	}}
}

func mapOf(item avroType) avroType {
	return avroType{map[string]any{"type": "map", "values": item.schema}, func(t *rapid.T, b []byte) []byte {
		keys := 0
		return blocks(t, b, func(t *rapid.T, b []byte) []byte {
			keys++
			return item.write(t, lengthed(b, fmt.Sprint("k", keys)))
		})
	}}
}

func enumOf(name string, symbols []string) avroType {
	return avroType{map[string]any{"type": "enum", "name": name, "symbols": symbols}, func(t *rapid.T, b []byte) []byte {
		return varint(b, int64(rapid.IntRange(0, len(symbols)-1).Draw(t, name)))
	}}
}

type avroField struct {
	name string
	typ  avroType
}

func recordOf(name string, fields []avroField) avroType {
	var all []any
	for _, f := range fields {
		all = append(all, map[string]any{"name": f.name, "type": f.typ.schema})
	}
	return avroType{map[string]any{"type": "record", "name": name, "fields": all}, func(t *rapid.T, b []byte) []byte {
		for _, f := range fields {
			b = f.typ.write(t, b)
		}
		return b
	}}
}

// chain is a record that contains itself.
func chain(name string) avroType {
	return avroType{map[string]any{"type": "record", "name": name, "fields": []any{
		map[string]any{"name": "texto", "type": "string"},
		map[string]any{"name": "proximo", "type": []any{"null", name}},
	}}, func(t *rapid.T, b []byte) []byte {
		for {
			b = lengthed(b, someText(t))
			if !rapid.Bool().Draw(t, "more") {
				return varint(b, 0)
			}
			b = varint(b, 1)
		}
	}}
}

// foreign is a type of a field that the contract does not have. name is unused so far.
func foreign(t *rapid.T, name string, depth int) avroType {
	most := 13
	if depth == 0 {
		most = 9
	}
	switch k := rapid.IntRange(0, most).Draw(t, "foreign"); k {
	case 0, 1, 2, 3, 4, 5, 6, 7:
		return primitive([]string{"null", "boolean", "int", "long", "float", "double", "bytes", "string"}[k])
	case 8:
		return enumOf(name, []string{"A", "B", "C"})
	case 9:
		size := rapid.IntRange(1, 5).Draw(t, "size")
		return avroType{map[string]any{"type": "fixed", "name": name, "size": size}, func(t *rapid.T, b []byte) []byte {
			return append(b, rapid.SliceOfN(rapid.Byte(), size, size).Draw(t, "fixed")...)
		}}
	case 10:
		return arrayOf(foreign(t, name, depth-1))
	case 11:
		return mapOf(foreign(t, name, depth-1))
	case 12:
		if rapid.Bool().Draw(t, "recursive") {
			return chain(name)
		}
		return unionOf(primitive("null"), primitive("string"), recordOf(name, []avroField{{"x", primitive("long")}}))
	}
	inner := foreign(t, name+"_a", depth-1)
	fields := []avroField{{"a", inner}, {"b", foreign(t, name+"_b", depth-1)}}
	if m, ok := inner.schema.(map[string]any); ok && m["name"] != nil { // a second use, by name
		fields = append(fields, avroField{"c", avroType{m["name"], inner.write}})
	}
	return recordOf(name, fields)
}

// A contract field of a variant: its type, whether it may be left out or null.
type variantField struct {
	name     string
	types    func(t *rapid.T) avroType // one of the types a writer may give it
	required bool
}

func oneOf(types ...avroType) func(*rapid.T) avroType {
	return func(t *rapid.T) avroType { return types[rapid.IntRange(0, len(types)-1).Draw(t, "type")] }
}

func symbolsOf(name string, known []string) func(*rapid.T) avroType {
	return func(t *rapid.T) avroType {
		return enumOf(name, rapid.Permutation(append(slices.Clone(known), "NOVO")).Draw(t, "symbols"))
	}
}

func variantFields(topic schemas.Topic) []variantField {
	text := oneOf(primitive("string"), primitive("bytes"), logical("string", "uuid"))
	double := oneOf(primitive("double"), primitive("float"), primitive("int"), primitive("long"))
	fields := []variantField{
		{"eventId", text, true},
		{"tripId", text, true},
		{"ocorridoEm", oneOf(primitive("long"), primitive("int"), logical("long", "timestamp-millis")), true},
		{"retifica", text, false},
		{"motoristaId", text, false},
	}
	switch topic {
	case schemas.Telemetry:
		return append(fields, variantField{"latitude", double, true}, variantField{"longitude", double, true},
			variantField{"velocidadeKmh", oneOf(primitive("float"), primitive("int")), false})
	case schemas.Rides:
		point := recordOf("Ponto", []avroField{{"longitude", primitive("double")}, {"nome", primitive("string")}, {"latitude", primitive("float")}})
		return append(fields, variantField{"latitude", double, false}, variantField{"longitude", double, false},
			variantField{"tipo", symbolsOf("Tipo", rideSymbols), true},
			variantField{"regiao", text, false}, variantField{"categoria", text, false},
			variantField{"multiplicador", func(t *rapid.T) avroType { return decimalOf(t, "Mult") }, false},
			variantField{"rotaPrevista", oneOf(arrayOf(point)), false})
	}
	return append(fields, variantField{"tipo", symbolsOf("Tipo", paymentSymbols), true},
		variantField{"valor", func(t *rapid.T) avroType { return decimalOf(t, "Valor") }, true},
		variantField{"moeda", text, true}, variantField{"meio", text, false})
}

// variant draws a writer of a topic that the meter must be able to read: fields in any
// order, optional ones left out, types promoted, unions either way, foreign fields between.
func variant(t *rapid.T, topic schemas.Topic) avroType {
	var fields []avroField
	for _, f := range variantFields(topic) {
		if !f.required && rapid.Bool().Draw(t, "absent") {
			continue
		}
		typ, null := f.types(t), primitive("null")
		switch rapid.IntRange(0, 3).Draw(t, "wrap") {
		case 0:
			typ = unionOf(null, typ)
		case 1:
			typ = unionOf(typ, null)
		case 2: // a branch that no field of the contract can take
			typ = unionOf(null, primitive("boolean"), typ)
		}
		fields = append(fields, avroField{f.name, typ})
	}
	for i := range rapid.IntRange(0, 4).Draw(t, "foreigners") {
		fields = append(fields, avroField{fmt.Sprint("extra", i), foreign(t, fmt.Sprint("Extra", i), 2)})
	}
	return recordOf("Variante", rapid.Permutation(fields).Draw(t, "order"))
}

// text is the schema's JSON. Plain leaves the logical types out, so that other libraries
// show the values as they were written.
func (a avroType) text(plain plainness) string {
	b, err := json.Marshal(a.schema)
	if err != nil {
		panic(err)
	}
	if plain == withoutLogical {
		return stripLogical(string(b))
	}
	return string(b)
}

type plainness int

const (
	withLogical plainness = iota
	withoutLogical
)
