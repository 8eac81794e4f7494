package trip

import (
	"slices"
	"strings"

	"taximeter/schemas"
)

// words keeps one copy of each region, category and means of payment, and of what ride
// events say with them: there are few, and millions of trips that name them. It belongs to
// the partition.
type words struct {
	known   map[string]string
	details map[unrouted]*schemas.RideDetail
}

// unrouted is what a ride event says but for a route, which no two trips share.
type unrouted struct {
	region, category string
	multiplier       schemas.Mils
}

// maxWords bounds what a careless producer can make it remember.
const maxWords = 4096

// keep gives a copy of w that nobody will change; the same one each time, mostly.
func (s *words) keep(w string) string {
	if kept, ok := s.known[w]; ok || w == "" {
		return kept
	}
	w = strings.Clone(w)
	if s.known == nil {
		s.known = make(map[string]string)
	}
	if len(s.known) < maxWords {
		s.known[w] = w
	}
	return w
}

// detail gives a copy of d that nobody will change; the same one each time, mostly.
func (s *words) detail(d *schemas.RideDetail) *schemas.RideDetail {
	key := unrouted{d.Region, d.Category, d.Multiplier}
	if kept, ok := s.details[key]; ok && len(d.Route) == 0 {
		return kept
	}
	key.region, key.category = s.keep(d.Region), s.keep(d.Category)
	kept := &schemas.RideDetail{Region: key.region, Category: key.category, Multiplier: d.Multiplier, Route: slices.Clone(d.Route)}
	if s.details == nil {
		s.details = make(map[unrouted]*schemas.RideDetail)
	}
	if len(s.details) < maxWords && len(d.Route) == 0 {
		s.details[key] = kept
	}
	return kept
}
