// Package recordings turns public recordings of trips (CSV, plain or gzip) into event
// lines that the meter reads: one telemetry event per row in the file's order, a ride
// start before a trip's first row and a ride end after its last.
//
// It must never repair a recording: rows out of order stay out of order, rows without a
// fix (0,0) become events that the meter sends to the dead letters, and rows that say the
// same twice become events with one eventId, so that the meter sees a duplicate. The same
// recording always gives the same lines.
//
// Start reading at convert.go; format.go lists the recordings known.
package recordings
