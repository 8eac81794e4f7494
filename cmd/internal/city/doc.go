// Package city simulates the traffic of a ride-hailing company, seeded and without end: the
// records of the three input topics in the order in which a broker would have appended
// them, with everything that goes wrong in the field. Cars stop, speed, leave the route and
// lose the signal; phones send twice, late, or nonsense; drivers press the wrong button and
// correct it; payments are authorised, captured, refunded.
//
// The same Config gives the same records, byte for byte, and a longer run begins with a
// shorter one. What is captured equals the bill that the meter must come to, except where a
// passenger does not pay or is refunded in part: so the reconciliation of a simulated day
// is a check of the meter.
//
// It must never look at the clock: whoever wants the traffic in real time waits for each
// record's AppendedAt.
//
// Start reading at city.go; plan.go decides what will happen to a trip, ride.go lets it
// happen, delivery.go is the way from the phone to the broker, rates.go says how often.
package city
