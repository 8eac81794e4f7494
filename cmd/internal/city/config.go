package city

import (
	"errors"
	"fmt"
	"math"

	"taximeter/schemas"
)

// Config says which city, from when, and how much of it.
type Config struct {
	Seed  uint64
	Start schemas.Millis // event time and append time of the first records

	// EventsPerSecond is the average rate, of event time, over the three topics. Each
	// event per second keeps about ten trips in memory.
	EventsPerSecond float64

	Regions []Region
	// Tariffs are what passengers pay by. Give the meter the same ones: then what is
	// captured is what is billed.
	Tariffs []schemas.Tariff

	// Events ends the stream after so many records, in the middle of whatever happens then.
	// 0 = no such end.
	Events int64
	// Span ends the stream once all trips requested before Start+Span are over. 0 = never.
	Span schemas.Millis

	// TelemetrySchema is the schema id in telemetry records that are cut short. With 0 they
	// are cut within the id already.
	TelemetrySchema uint32
}

// Region is one of the places in which trips happen.
type Region struct {
	Name   string
	Center schemas.LatLon
}

// Default is a small company in four Brazilian cities, without end, with Tariffs(start).
func Default(seed uint64, start schemas.Millis) Config {
	return Config{Seed: seed, Start: start, EventsPerSecond: 200, TelemetrySchema: 1, Tariffs: Tariffs(start), Regions: []Region{
		{"sao-paulo", schemas.LatLon{Lat: -23.5505, Lon: -46.6333}},
		{"rio-de-janeiro", schemas.LatLon{Lat: -22.9068, Lon: -43.1729}},
		{"belo-horizonte", schemas.LatLon{Lat: -19.9167, Lon: -43.9345}},
		{"recife", schemas.LatLon{Lat: -8.0543, Lon: -34.8813}},
	}}
}

// Validate tells everything that is wrong with the configuration.
func (c *Config) Validate() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if c.Start < schemas.MinInstant || c.Start > schemas.EndOfTime/2 {
		fault("start: must be in 2000 or later, is %v", c.Start)
	}
	if !(c.EventsPerSecond > 0) || math.IsInf(c.EventsPerSecond, 0) {
		fault("events per second: must be more than 0, is %v", c.EventsPerSecond)
	}
	if c.Events < 0 {
		fault("events: must be 0 (without end) or more, is %d", c.Events)
	}
	if c.Span < 0 || c.Span > schemas.EndOfTime/4 {
		fault("span: must be 0 (without end) or more, is %d ms", int64(c.Span))
	}
	if len(c.Regions) == 0 {
		fault("regions: at least one is needed")
	}
	for i, r := range c.Regions {
		if r.Name == "" || !r.Center.Valid() || math.Abs(r.Center.Lat) > 80 {
			fault("regions[%d]: needs a name and a centre within 80 degrees of the equator, is %+v", i, r)
		}
	}
	if region, category, ok := c.unpriced(); ok {
		fault("tariffs: none is in force for %s/%s at %v; add one with regiao and categoria %q", region, category, c.Start, schemas.Any)
	}
	return errors.Join(faults...)
}

// unpriced finds where a ride would have no price.
func (c *Config) unpriced() (region, category string, found bool) {
	prices := priceList(c.Tariffs)
	for _, r := range c.Regions {
		for _, k := range categories {
			if prices.Find(placeOf(r.Name, k.name), c.Start, prices.Revision()) == nil {
				return r.Name, k.name, true
			}
		}
	}
	return "", "", false
}
