package trip

import "taximeter/schemas"

// Look and LookFurther read a little of each line of memory that the trip's next event will read,
// and of little else: called for some trips in turn, before the first of their events comes, their
// waits for memory overlap. What they return means nothing.

// cacheLine is how many bytes come from memory at once.
const cacheLine = 64

// Look is at the state itself.
func (s *State) Look() schemas.Millis {
	return s.due ^ s.story.start ^ schemas.Millis(len(s.id)^len(s.track.windows)^len(s.rides)) ^ schemas.Millis(s.ridden.mm)
}

// LookFurther is at what the state points to; Look comes first.
func (s *State) LookFurther() (seen schemas.Millis) {
	t := &s.track
	if n := len(t.points); n > 0 {
		seen ^= t.points[n-1].at
	}
	if n := len(t.windows); n > 0 {
		seen ^= t.windows[n-1].start
	}
	for at := 0; at < len(t.ids.arena); at += cacheLine {
		seen ^= schemas.Millis(t.ids.arena[at])
	}
	for at := 0; at < len(s.names.arena); at += cacheLine {
		seen ^= schemas.Millis(s.names.arena[at])
	}
	if n := len(s.rides); n > 0 {
		seen ^= s.rides[n-1].at
	}
	if t.settled != nil {
		seen ^= t.settled.first.at
	}
	if s.story.route != nil {
		seen ^= schemas.Millis(len(s.story.route.Route))
	}
	return seen ^ s.alerts.Look()
}
