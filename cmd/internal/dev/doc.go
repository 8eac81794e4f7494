// Package dev is `taximeter dev`: a world in the process, a real node in it, and a feed
// that is a simulated city or a recording.
//
// Start reading at Run.
package dev
