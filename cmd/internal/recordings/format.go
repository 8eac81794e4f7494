package recordings

import (
	"fmt"
	"strings"
)

// format says where a recording keeps what an event needs. All have the columns ts (Unix
// seconds), lat and lon.
type format struct {
	name     string
	keys     []string // columns that tell trips apart; the tripId is their values joined by "-"
	driver   string   // column that names the vehicle
	region   string
	category string
	trips    tripColumns // of a second file that lists the trips; zero = there is none
}

// tripColumns are the columns of a list of trips.
type tripColumns struct{ id, driver, start, points string }

var formats = []format{
	{
		name: "porto", keys: []string{"trip_id"}, driver: "taxi_id", region: "porto", category: "taxi",
		trips: tripColumns{id: "trip_id", driver: "taxi_id", start: "start_ts", points: "points"},
	},
	{name: "liverpool", keys: []string{"vehicle_id", "trip_id"}, driver: "vehicle_id", region: "liverpool", category: "onibus"},
	{name: "envirocar", keys: []string{"track_no"}, driver: "car_no", region: "envirocar", category: "carro"},
}

// Formats are the names that Convert knows.
func Formats() []string {
	names := make([]string, len(formats))
	for i, f := range formats {
		names[i] = f.name
	}
	return names
}

func formatNamed(name string) (*format, error) {
	for i := range formats {
		if formats[i].name == name {
			return &formats[i], nil
		}
	}
	return nil, fmt.Errorf("no recording format %q; known are %s", name, strings.Join(Formats(), ", "))
}

// pointColumns are the columns that a file of positions must have.
func (f *format) pointColumns() []string {
	return append([]string{"ts", "lat", "lon", f.driver}, f.keys...)
}

// tripListColumns are the columns that a list of trips must have; nil if the format has none.
func (f *format) tripListColumns() []string {
	if f.trips == (tripColumns{}) {
		return nil
	}
	return []string{f.trips.id, f.trips.driver, f.trips.start, f.trips.points}
}
