// Package geo measures the Earth as a sphere of mean radius: the length between two
// positions and the distance from a position to a path, in metres.
//
// Distances become money, so two nodes must find the same bits whatever their
// processor. The Go compiler fuses x*y+z into one rounding on arm64, ppc64, s390x,
// riscv64 and amd64 with GOAMD64=v3, also inside package math, whose Sin, Cos and Asin
// are portable Go code on amd64 and arm64 alike and so change their last bit there.
// This package therefore brings its own sine, cosine and arcsine, and puts every product
// in an explicit float64(), which the language promises to round. Square root is
// correctly rounded everywhere and comes from math.
//
// It must never call math.Sin, math.Cos, math.Asin or math.FMA, nor add a product that
// is not within float64(). The golden bit tests hold it to that; crosscheck.sh runs them
// on the other processors.
//
// Start reading at haversine.go.
package geo
