package iceberg

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/iceberg-go"

	"taximeter/schemas"
)

// column ties a column of a table to where its values come from in a row R. Its field has no
// id: ids are the table's, found by name.
type column[R any] struct {
	field iceberg.NestedField
	fill  func(array.Builder, []R)
}

// required is a column that always has a value.
func required[R any, B array.Builder, V any](name, doc string, t iceberg.Type, put func(B, V), get func(*R) V) column[R] {
	return column[R]{
		field: iceberg.NestedField{Name: name, Type: t, Doc: doc, Required: true},
		fill: func(b array.Builder, rows []R) {
			to := b.(B)
			for i := range rows {
				put(to, get(&rows[i]))
			}
		},
	}
}

// nullable is a column without a value where get gives nil.
func nullable[R any, B array.Builder, V any](name, doc string, t iceberg.Type, put func(B, V), get func(*R) *V) column[R] {
	return column[R]{
		field: iceberg.NestedField{Name: name, Type: t, Doc: doc},
		fill: func(b array.Builder, rows []R) {
			to := b.(B)
			for i := range rows {
				if v := get(&rows[i]); v != nil {
					put(to, *v)
				} else {
					to.AppendNull()
				}
			}
		},
	}
}

// Money and multipliers keep the contract's precision.
var (
	centsType = iceberg.DecimalTypeOf(12, schemas.CentsScale)
	milsType  = iceberg.DecimalTypeOf(6, schemas.MilsScale)
)

func putText[S ~string](b *array.StringBuilder, v S)     { b.Append(string(v)) }
func putInt[I ~int | ~int32](b *array.Int32Builder, v I) { b.Append(int32(v)) }
func putLong[I ~int64](b *array.Int64Builder, v I)       { b.Append(int64(v)) }
func putFloat(b *array.Float32Builder, v float32)        { b.Append(v) }
func putDouble(b *array.Float64Builder, v float64)       { b.Append(v) }
func putBoolean(b *array.BooleanBuilder, v bool)         { b.Append(v) }
func putVerdict(b *array.StringBuilder, v schemas.Verdict) {
	b.Append(v.String())
}
func putDecimal[D ~int64](b *array.Decimal128Builder, v D) {
	b.Append(decimal128.FromI64(int64(v)))
}

// putInstant writes microseconds, as Iceberg's timestamptz has them.
func putInstant(b *array.TimestampBuilder, v schemas.Millis) {
	b.Append(arrow.Timestamp(int64(v) * 1000))
}

func text[R any, S ~string](name, doc string, get func(*R) S) column[R] {
	return required(name, doc, iceberg.PrimitiveTypes.String, putText[S], get)
}

func optText[R any, S ~string](name, doc string, get func(*R) *S) column[R] {
	return nullable(name, doc, iceberg.PrimitiveTypes.String, putText[S], get)
}

func integer[R any, I ~int | ~int32](name, doc string, get func(*R) I) column[R] {
	return required(name, doc, iceberg.PrimitiveTypes.Int32, putInt[I], get)
}

func optInteger[R any, I ~int | ~int32](name, doc string, get func(*R) *I) column[R] {
	return nullable(name, doc, iceberg.PrimitiveTypes.Int32, putInt[I], get)
}

func long[R any, I ~int64](name, doc string, get func(*R) I) column[R] {
	return required(name, doc, iceberg.PrimitiveTypes.Int64, putLong[I], get)
}

func optLong[R any, I ~int64](name, doc string, get func(*R) *I) column[R] {
	return nullable(name, doc, iceberg.PrimitiveTypes.Int64, putLong[I], get)
}

func double[R any](name, doc string, get func(*R) float64) column[R] {
	return required(name, doc, iceberg.PrimitiveTypes.Float64, putDouble, get)
}

func optDouble[R any](name, doc string, get func(*R) *float64) column[R] {
	return nullable(name, doc, iceberg.PrimitiveTypes.Float64, putDouble, get)
}

func optFloat[R any](name, doc string, get func(*R) *float32) column[R] {
	return nullable(name, doc, iceberg.PrimitiveTypes.Float32, putFloat, get)
}

func boolean[R any](name, doc string, get func(*R) bool) column[R] {
	return required(name, doc, iceberg.PrimitiveTypes.Bool, putBoolean, get)
}

func instant[R any](name, doc string, get func(*R) schemas.Millis) column[R] {
	return required(name, doc, iceberg.PrimitiveTypes.TimestampTz, putInstant, get)
}

func optInstant[R any](name, doc string, get func(*R) *schemas.Millis) column[R] {
	return nullable(name, doc, iceberg.PrimitiveTypes.TimestampTz, putInstant, get)
}

func decimal[R any, D ~int64](name, doc string, t iceberg.Type, get func(*R) D) column[R] {
	return required(name, doc, t, putDecimal[D], get)
}

func optDecimal[R any, D ~int64](name, doc string, t iceberg.Type, get func(*R) *D) column[R] {
	return nullable(name, doc, t, putDecimal[D], get)
}

func verdict[R any](name, doc string, get func(*R) schemas.Verdict) column[R] {
	return required(name, doc, iceberg.PrimitiveTypes.String, putVerdict, get)
}

// route is a list of positions; nil = null.
func route[R any](name, doc string, get func(*R) []schemas.LatLon) column[R] {
	position := &iceberg.StructType{FieldList: []iceberg.NestedField{
		{Name: "latitude", Type: iceberg.PrimitiveTypes.Float64, Required: true, Doc: "Degrees, WGS 84."},
		{Name: "longitude", Type: iceberg.PrimitiveTypes.Float64, Required: true, Doc: "Degrees, WGS 84."},
	}}
	return column[R]{
		field: iceberg.NestedField{Name: name, Type: &iceberg.ListType{Element: position, ElementRequired: true}, Doc: doc},
		fill: func(b array.Builder, rows []R) {
			list := b.(*array.ListBuilder)
			points := list.ValueBuilder().(*array.StructBuilder)
			lat, lon := points.FieldBuilder(0).(*array.Float64Builder), points.FieldBuilder(1).(*array.Float64Builder)
			for i := range rows {
				vertices := get(&rows[i])
				list.Append(vertices != nil)
				for _, v := range vertices {
					points.Append(true)
					lat.Append(v.Lat)
					lon.Append(v.Lon)
				}
			}
		},
	}
}

// zeroIsNull is a pointer to v, nil if v is zero: for words whose absence is "".
func zeroIsNull[V comparable](v V) *V {
	var zero V
	if v == zero {
		return nil
	}
	return &v
}
