package admin

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"taximeter/schemas"
)

// recentCheckpoints is how many GET /checkpoints shows.
const recentCheckpoints = 20

// askTimeout bounds how long a question waits for an owner.
const askTimeout = 2 * time.Second

// Handler serves the API of one node.
func Handler(n Node, metrics prometheus.Gatherer, log *slog.Logger) http.Handler {
	s := server{node: n, log: log}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /trips/{id}", s.trip)
	mux.HandleFunc("GET /trips/{id}/explain", s.explain)
	mux.HandleFunc("GET /partitions", s.partitions)
	mux.HandleFunc("GET /checkpoints", s.checkpoints)
	mux.HandleFunc("GET /cluster", func(w http.ResponseWriter, _ *http.Request) { s.reply(w, n.Cluster()) })
	mux.HandleFunc("POST /drain", s.drain)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { s.reply(w, map[string]string{"status": "ok"}) })
	mux.HandleFunc("GET /readyz", s.ready)
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /{$}", s.index)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.problem(w, r, http.StatusNotFound, "no such resource", "GET / lists what there is")
	})
	return recovering(mux, s)
}

type server struct {
	node Node
	log  *slog.Logger
}

func (s server) index(w http.ResponseWriter, _ *http.Request) {
	s.reply(w, map[string]string{
		"/trips/{id}":         "live state of a trip",
		"/trips/{id}/explain": "how its bill came about",
		"/partitions":         "positions, watermarks and verdicts",
		"/checkpoints":        "the newest checkpoints",
		"/cluster":            "members and placement",
		"/drain":              "POST: hand everything over and end",
		"/healthz":            "the process lives",
		"/readyz":             "the node does its work",
		"/metrics":            "Prometheus",
	})
}

func (s server) trip(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), askTimeout)
	defer cancel()
	answer, err := s.node.Trip(ctx, schemas.TripID(r.PathValue("id")))
	s.answer(w, r, answer, err)
}

func (s server) explain(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), askTimeout)
	defer cancel()
	answer, err := s.node.Explain(ctx, schemas.TripID(r.PathValue("id")))
	s.answer(w, r, answer, err)
}

func (s server) partitions(w http.ResponseWriter, _ *http.Request) {
	s.reply(w, s.node.Partitions())
}

func (s server) checkpoints(w http.ResponseWriter, r *http.Request) {
	answer, err := s.node.Checkpoints(r.Context(), recentCheckpoints)
	s.answer(w, r, answer, err)
}

func (s server) drain(w http.ResponseWriter, r *http.Request) {
	if err := s.node.Drain(); err != nil {
		s.problem(w, r, http.StatusForbidden, "not asked by everybody", err.Error())
		return
	}
	s.log.Info("asked to drain", "by", r.RemoteAddr)
	s.reply(w, map[string]string{"status": "draining"})
}

func (s server) ready(w http.ResponseWriter, r *http.Request) {
	if err := s.node.Ready(); err != nil {
		s.problem(w, r, http.StatusServiceUnavailable, "not ready", err.Error())
		return
	}
	s.reply(w, map[string]string{"status": "ready"})
}

func (s server) answer(w http.ResponseWriter, r *http.Request, body any, err error) {
	switch {
	case err == nil:
		s.reply(w, body)
	case errors.Is(err, ErrNoTrip):
		s.problem(w, r, http.StatusNotFound, "no such trip",
			"no event of this trip was accepted, or its summary has expired; dead letters are in "+schemas.TopicDLQ)
	case errors.Is(err, ErrMoving):
		w.Header().Set("Retry-After", "2")
		s.problem(w, r, http.StatusServiceUnavailable, "moving", err.Error())
	case errors.Is(err, context.DeadlineExceeded):
		w.Header().Set("Retry-After", "2")
		s.problem(w, r, http.StatusGatewayTimeout, "the owner did not answer in time", err.Error())
	default:
		s.log.Error("admin request failed", "path", r.URL.Path, "err", err)
		s.problem(w, r, http.StatusInternalServerError, "the request failed", err.Error())
	}
}

func (s server) reply(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	if err := e.Encode(body); err != nil {
		s.log.Debug("admin reply was not taken", "err", err) // the client went away
	}
}

// Problem is an RFC 9457 problem document.
type Problem struct {
	Type     string `json:"type"`
	Title    string `json:"title"`
	Status   int    `json:"status"`
	Detail   string `json:"detail,omitempty"`
	Instance string `json:"instance,omitempty"`
}

func (s server) problem(w http.ResponseWriter, r *http.Request, status int, title, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	p := Problem{Type: "about:blank", Title: title, Status: status, Detail: detail, Instance: strings.Clone(r.URL.Path)}
	if err := json.NewEncoder(w).Encode(p); err != nil {
		s.log.Debug("admin reply was not taken", "err", err)
	}
}

func recovering(next http.Handler, s server) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if p := recover(); p != nil {
				s.log.Error("admin request panicked", "path", r.URL.Path, "panic", p)
				s.problem(w, r, http.StatusInternalServerError, "internal error", "see the node's log")
			}
		}()
		next.ServeHTTP(w, r)
	})
}
