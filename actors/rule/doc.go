// Package rule decides alerts: it holds the compiled alert rules (Book) and, per trip,
// what they remember between events (Memory).
//
// A rule is data: a kind with parameters, regions and categories, and an instant from
// which it is in force. The version that decides is chosen by the event's time, so a
// replay decides as the first run did. What each kind means:
//
//	parada              in progress and within raioM of the onset point for duracaoMin
//	desvio              farther than limiarM from the planned route for pontos points in a row
//	velocidade          above limiarKmh for pontos points in a row
//	sem_sinal           in progress and silent for duracaoMin of event time
//	cobranca_duplicada  two authorizations of one amount within segundos
//	expressao           a condition over the trip's Facts becomes true
//
// Alerts are decided on arrival, in the state as it then stands. A fact alerts once: an
// episode (a stop, a run of points, a silence) keeps its onset until it ends, and points
// older than the newest one seen do not move episodes, so a late point starts no second
// alert.
//
// The package must never look at a clock, keep a string that an event brought without
// copying it, or allocate for a point that alerts nothing.
//
// Start reading at facts.go, then book.go and points.go.
package rule
