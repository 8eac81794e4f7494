package registry

import (
	"cmp"
	"context"
	"time"
)

// known asks the state; what it does not know it asks again at the log's end, so that a
// "not found" is true of the log and not only of us.
func known[T any](ctx context.Context, s *Server, ask func(*state) (T, error)) (T, error) {
	answer, err := now(s, ask)
	if !notFound(err) {
		return answer, err
	}
	return fresh(ctx, s, ask)
}

// fresh asks the state at the log's end: for what can change.
func fresh[T any](ctx context.Context, s *Server, ask func(*state) (T, error)) (T, error) {
	if err := s.catchUp(ctx); err != nil {
		var none T
		return none, err
	}
	return now(s, ask)
}

// shown asks for what was just written. The broker may tell of a committed record later than of
// its commit, or answer a repeated request with another record's offset; a record that does not
// show within a while was not written, and "not found" then is the answer.
func shown[T any](ctx context.Context, s *Server, ask func(*state) (T, error)) (T, error) {
	const while = time.Second
	patience, cancel := context.WithTimeout(ctx, while)
	defer cancel()
	for {
		position := s.offset()
		answer, err := now(s, ask)
		if !notFound(err) {
			return answer, err
		}
		if s.reach(patience, position+1) != nil {
			return answer, cmp.Or(ctx.Err(), err)
		}
	}
}

func now[T any](s *Server, ask func(*state) (T, error)) (T, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return ask(s.state)
}
