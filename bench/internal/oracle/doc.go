// Package oracle says whether a run computed what it should: the bills and windows that
// stand on the output topics against those of `taximeter simulate` on the same events.
//
// It must never forgive: what semantics.md lets depend on the order of arrival (versions,
// differences between them, lateness) is taken out on both sides, the rest must be equal.
//
// Start reading at Compare.
package oracle
