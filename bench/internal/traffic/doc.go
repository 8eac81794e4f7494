// Package traffic makes the events that the benches run on: trips of a ride-hailing
// company, always the same for the same configuration, in the order of their append times,
// with the shares of duplicates, late, invalid and future-dated records that the benches
// state.
//
// It must never draw anything from the clock or from outside its seed.
//
// Start reading at Stream.Next; trip.go tells what happens on a trip.
package traffic
