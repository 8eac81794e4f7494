package registry

import "context"

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

func now[T any](s *Server, ask func(*state) (T, error)) (T, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return ask(s.state)
}
