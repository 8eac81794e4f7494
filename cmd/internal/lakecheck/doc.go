// Package lakecheck proves lake and analytical tables from outside: readers that are not
// ours (PyIceberg, ClickHouse's engine, SQLite itself) compare every row with the event
// file, with simulate, with what was published, and with the offsets of the topics.
//
// The readers are in Python, in the folder check; what they are given is a Case. Those of
// `make lake-check` come from package inputs, and the fault harness makes others. It must
// never read the lake with our own library.
//
// Start reading at Case, then check/check.py.
package lakecheck
