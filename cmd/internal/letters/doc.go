// Package letters is the dead-letter desk: it reads the letters of corridas.dlq, selects,
// counts and reports them, and sends them again to the topic they came from.
//
// It must never change a letter's bytes, never send one twice unasked, and never show a
// position, a pseudonym or an unknown field in a report.
//
// Start reading at letter.go; requeue.go is the one that writes.
package letters
