package trip

import "strings"

// words keeps one copy of each region, category and means of payment: there are few, and
// millions of trips that name them. It belongs to the partition.
type words struct{ known map[string]string }

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
