// Command scale shows how the meter's cost follows the sizes that grow in production: live
// trips, remembered events, the events of one hot trip, and partitions. It runs the owners
// of partitions with their trips' actors and their Pebble stores, without Kafka, so what it
// tells is the meter's share of an event and not the whole of it: for that see bench/quick.
//
// It must not be compared across machines or across loads: read each table by its rows.
//
// Start reading at main.go, then fleet.go (the traffic) and world.go (what it drives).
package main
