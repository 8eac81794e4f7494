// Package trip is one trip's meter: a pure state machine that takes the accepted
// events of one trip in any order and yields windows, bills, alerts and anomalies.
//
// Its promise: the final windows and the final bill are a function of the set of
// accepted events and of the tariff revision of the first bill, never of arrival
// order, batching or restarts. A property test holds it to that.
//
// It must never read a clock, log, lock or do I/O; whatever it may look at besides its
// own state comes in through Env, whatever it decides goes out through Env.Out.
//
// Start reading at State (state.go): Take and Advance. Then positions.go (telemetry) with
// track.go, filter.go, windows.go, revision.go (what is decided anew) and settled.go (points
// that leave memory), bill.go (what is owed), chains.go (which event of a rectification
// chain has effect).
package trip
