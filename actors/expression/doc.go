// Package expression compiles the conditions of `expressao` rules: expressions of the
// Common Expression Language over the features of a trip (features.go lists them with
// their types and units), such as
//
//	em_andamento && distancia_m > 80000 && regiao in ["poa", "cxj"]
//
// It is the adapter between package rule and cel-go, which nothing else may import for
// this purpose. An expression must depend on the trip alone, so that every node and every
// replay decides the same: there are no clocks, time zones, regular expressions, macros
// or conversions that lose; and it must be cheap, so its greatest possible cost is bounded
// when it is compiled and none is spent on counting it when it is evaluated.
//
// Start reading at compile.go.
package expression
