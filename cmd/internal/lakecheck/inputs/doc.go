// Package inputs makes the cases of `make lake-check`: a stretch of the simulated city, and
// real trips, through `taximeter dev` in this process and through simulate. Start reading
// at Run.
package inputs
