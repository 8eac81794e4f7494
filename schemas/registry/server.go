package registry

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/schemas"
)

// ServerConfig says which log the registry keeps its state on.
type ServerConfig struct {
	Kafka             []kgo.Opt     // seeds, TLS and SASL
	Topic             string        // "" = schemas.TopicSchemas
	ReplicationFactor int16         // of the topic when it must be made; 0 = the broker's default
	Timeout           time.Duration // of one request; 0 = 10 s
	Log               *slog.Logger  // nil = silent
}

// Server is the embedded registry: an http.Handler that answers while Run runs.
type Server struct {
	cfg    ServerConfig
	routes *http.ServeMux
	ready  chan struct{} // closed once the log was read to where it ended at the start

	// Set by Run before ready is closed.
	log   *kgo.Client
	admin *kadm.Client

	mu       sync.RWMutex
	state    *state        // guarded by mu
	position int64         // guarded by mu; the next offset to be read
	moved    chan struct{} // guarded by mu; closed, and replaced, when position rises

	writing chan struct{} // holds one token; whoever has it owns writer
	writer  *kgo.Client   // nil = none, or lost its turn to another server
}

// NewServer does no I/O; Run does.
func NewServer(cfg ServerConfig) *Server {
	if cfg.Topic == "" {
		cfg.Topic = schemas.TopicSchemas
	}
	if cfg.ReplicationFactor == 0 {
		cfg.ReplicationFactor = -1
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = 10 * time.Second
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{cfg: cfg, ready: make(chan struct{}), state: newState(), moved: make(chan struct{}), writing: make(chan struct{}, 1)}
	s.writing <- struct{}{}
	s.routes = s.router()
	return s
}

// Ready is closed once the server has caught up; requests before that wait.
func (s *Server) Ready() <-chan struct{} { return s.ready }

// ServeHTTP answers one request of the registry's REST protocol.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), s.cfg.Timeout)
	defer cancel()
	select {
	case <-s.ready:
		s.routes.ServeHTTP(w, r.WithContext(ctx))
	case <-ctx.Done():
		s.serve(func(*http.Request) (any, error) {
			return nil, fmt.Errorf("the log %s is not read yet: %w", s.cfg.Topic, ctx.Err())
		})(w, r)
	}
}

// Run makes the topic if need be, reads it and follows it until ctx ends (nil) or the log
// can no longer be followed. It is called once.
func (s *Server) Run(ctx context.Context) error {
	log, err := s.open(ctx)
	if err != nil {
		return fmt.Errorf("schema registry on %s: %w", s.cfg.Topic, err)
	}
	defer log.Close()
	defer s.closeWriter()
	s.log, s.admin = log, kadm.NewClient(log)

	// A record of our own to wait for: the end offset alone may lie behind batches that
	// compaction has emptied, which no reader ever sees.
	end, err := produce(ctx, log, &kgo.Record{Topic: s.cfg.Topic, Key: noopKey})
	if err != nil {
		return fmt.Errorf("schema registry on %s: write a no-op: %w", s.cfg.Topic, err)
	}
	for caughtUp := false; ; {
		fetches := log.PollFetches(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err := s.take(fetches); err != nil {
			return fmt.Errorf("schema registry on %s: %w", s.cfg.Topic, err)
		}
		if !caughtUp && s.offset() > end {
			caughtUp = true
			close(s.ready)
		}
	}
}
