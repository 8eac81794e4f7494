package city

import "taximeter/schemas"

// Shares of all records appended.
const (
	repeatedShare = 0.03   // exact duplicates, in batches as a phone re-sends them
	lateShare     = 0.008  // 2 to 6 minutes on the way
	veryLateShare = 0.0005 // 10 minutes to 2 hours on the way
	invalidShare  = 0.003  // dead letters of every kind
	aheadShare    = 1e-6   // clock far ahead; and one in each day besides
)

// Chances per trip.
const (
	cancelledEarly   = 0.06  // before the match
	cancelledMatched = 0.04  // after it; about half of them past the grace period
	cancelledRiding  = 0.003 // after the start: the cancellation is the end
	endForgotten     = 0.004 // no TERMINO ever
	endCorrected     = 0.010 // TERMINO rectified by another
	endMistaken      = 0.004 // TERMINO in mid-ride, made void, and a second one later
	tripVoided       = 0.002 // TERMINO made void for good
	cancelMistaken   = 0.004 // CANCELAMENTO before the start, made void

	longStops  = 0.010 // more than 10 minutes in one place
	speedings  = 0.020
	detours    = 0.010
	silences   = 0.010 // 6 to 8 minutes without a position
	weakSignal = 0.150 // 30 to 100 seconds lost or sent afterwards
	surges     = 0.250
	ratings    = 0.500
	plainIDs   = 0.125 // event ids that are numbers, not UUIDs
)

// Chances per charge.
const (
	cash           = 0.12
	unpaid         = 0.005 // authorised, never captured
	chargedTwice   = 0.005 // two authorisations within 5 s, the second made void
	capturedTwice  = 0.005 // and refunded
	partlyRefunded = 0.003
)

// Chances per position.
const (
	corrected      = 0.002
	correctedAgain = 0.2 // of those
)

const (
	tick = 10 * schemas.Second // between two positions of a car

	// Measured, so that the wanted rate of events can be turned into one of trips: records
	// of a trip on average, the share of them that are fresh positions, and how long a trip
	// is under way. TestWhatACityDoes notices when they no longer hold.
	eventsPerTrip = 120
	freshShare    = 0.92
	tripLength    = 17 * schemas.Minute
)
