package ingest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"taximeter/schemas"
	"taximeter/schemas/registry"
)

const (
	firstBackoff = 200 * time.Millisecond
	lastBackoff  = 10 * time.Second
	// askTimeout bounds one question to the registry or a broker.
	askTimeout = 5 * time.Second
	// probeTimeout bounds how old a good broker's answer grows because another is silent:
	// with the next probe it must stay well below the 10 s in which it counts as fresh.
	probeTimeout = 3 * time.Second
	// refusedFor is how long a schema that will never do is not asked for again.
	refusedFor = time.Minute
	// notFoundFor is the same for an id that the registry does not have. Producers register
	// before they produce, so such an id is wrong for good or comes within the moments in
	// which a registry's followers lag its leader. Every wrong id costs a question in this time.
	notFoundFor = 5 * time.Second
	// maxRefused bounds what a producer of random ids can make us remember.
	maxRefused = 10_000
)

type schemaKey struct {
	topic schemas.Topic
	id    int
}

// refusal is why records of a schema id are dead letters, for a while.
type refusal struct {
	detail string
	until  time.Time
}

// learn makes the lane wait for a schema and asks for it, once however many lanes wait.
func (s *Source) learn(l *lane, id int) {
	l.waiting, l.why = true, nil
	key := schemaKey{l.topic, id}
	waiting := s.asking[key]
	s.asking[key] = append(waiting, l)
	if len(waiting) == 0 {
		s.background(func() { s.ask(key) })
	}
}

// ask goes on until the registry answers. It runs beside the Source's goroutine.
func (s *Source) ask(key schemaKey) {
	for backoff := firstBackoff; ; backoff = min(2*backoff, lastBackoff) {
		ctx, cancel := context.WithTimeout(s.ctx, askTimeout)
		schema, err := s.o.Registry.SchemaByID(ctx, key.id)
		cancel()
		switch {
		case err == nil:
			// What the decoder says of a schema that does not fit, it says again of each record.
			_ = s.o.Decoder.Learn(key.topic, key.id, schema)
			s.do(func() { s.answered(key) })
			return
		case !registry.Unavailable(err):
			s.do(func() { s.refuse(key, err); s.answered(key) })
			return
		}
		err = fmt.Errorf("schema %d of %s, asked for again in %v: %w", key.id, key.topic, backoff, err)
		s.do(func() {
			for _, l := range s.asking[key] {
				l.why = err
			}
			s.serveAll() // the others need not wait
		})
		if !s.pause(backoff) {
			return
		}
	}
}

// refuse makes dead letters of the records with this id.
func (s *Source) refuse(key schemaKey, err error) {
	if len(s.refused) >= maxRefused {
		clear(s.refused)
	}
	during := refusedFor
	if errors.Is(err, registry.ErrNotFound) {
		during = notFoundFor
	}
	s.refused[key] = &refusal{fmt.Sprintf("schema %d of %s: %v", key.id, key.topic, err), time.Now().Add(during)}
}

// refusal is why records of this id are dead letters now; nil = they are not.
func (s *Source) refusal(key schemaKey, now time.Time) *refusal {
	if r := s.refused[key]; r != nil && now.Before(r.until) {
		return r
	}
	return nil
}

// answered lets the lanes that wait for a schema go on.
func (s *Source) answered(key schemaKey) {
	for _, l := range s.asking[key] {
		l.waiting, l.why = false, nil
	}
	delete(s.asking, key)
	s.serveAll()
}
