// Package oracle says what the meter must compute, told a second time: the contract of
// results written as one naive batch over everything that ever arrived. Tests hold the
// streaming meter against it.
//
// It must never import the packages it judges (actors/trip, actors/partition and what
// they are made of), and never be imported by anything but tests. It may be slow; it may
// not be clever. The watermark appears only in verdict.go, because nothing else of a
// final result depends on it.
//
// Start reading at Judge.
package oracle
