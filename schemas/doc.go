// Package schemas holds the plain words that every other package speaks: ids,
// instants, money, events, verdicts, bills, windows, alerts, tariffs and rules,
// and beside them the Avro contracts (avro/*.avsc) those words are read from and
// written to.
//
// It must never touch the world: no clock, no I/O, no third party. Contracts
// (topic names, Avro fields, JSON keys) speak the domain's Portuguese; Go
// identifiers speak English, and each type says which contract word it stands for.
//
// Start reading at event.go, then verdict.go.
package schemas
