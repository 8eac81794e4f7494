// Package codec turns the bytes of the Avro topics into the plain words of package
// schemas and back, in the Confluent wire format (a zero byte, the schema id in four
// bytes big-endian, the Avro value).
//
// Bytes come from anyone, so reading is strict: a value is taken whole and exact or
// refused with one of the errors of errors.go; it never panics and never allocates more
// than in proportion to the value. Each writer schema is compiled once into a plan that
// walks the value in the writer's order, keeps the fields asked for and validates and
// skips the rest. The meter's plan (Decoder) allocates nothing but a planned route.
//
// It must never fetch a schema (package registry does), judge the content of an event
// (schemas.CheckEvent does) or let the library that parses schemas show in an exported
// signature: that library is not maintained, and it is used for schemas only, never for
// values.
//
// Start reading at decoder.go, then plan.go and cursor.go; append.go is the way back.
package codec
