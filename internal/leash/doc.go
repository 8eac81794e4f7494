// Package leash ties the processes that a harness, a test or a benchmark starts to its own life,
// however that ends: a test that runs out of time ends without its cleanups, nothing can clean up
// after SIGKILL, and a stopped process would stay for ever. Files stay behind.
//
// It must never be part of what ships.
package leash
