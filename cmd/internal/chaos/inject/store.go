package inject

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"time"

	"taximeter/checkpoint"
)

// ErrInjected is the error of every store call that a plan spoilt.
var ErrInjected = errors.New("injected fault")

// Store is st as the plan lets it be seen. ns is the namespace whose objects have points.
func (a *Armed) Store(st checkpoint.Store, ns string) checkpoint.Store {
	return &store{Store: st, armed: a, ns: ns + "/", rng: rand.New(rand.NewPCG(a.plan.Seed, 1))}
}

type store struct {
	checkpoint.Store
	armed *Armed
	ns    string

	mu  sync.Mutex // guards rng
	rng *rand.Rand
}

// kinds are the folders of a namespace and the points before and after a write there.
var kinds = map[string][2]Point{
	"part":   {Upload, UploadAfter},
	"outbox": {Outbox, OutboxAfter},
	"seal":   {Offer, OfferAfter},
}

func (s *store) kind(key string) string {
	rest, ok := strings.CutPrefix(key, s.ns)
	if !ok {
		return ""
	}
	kind, _, _ := strings.Cut(rest, "/")
	return kind
}

// fate is what becomes of one call.
type fate struct{ lost, unheard bool }

func (s *store) draw(ctx context.Context) fate {
	if there(s.armed.plan.Dark) {
		return fate{lost: true}
	}
	rate := s.armed.plan.StoreFaults
	if there(s.armed.plan.Slow) {
		rate = max(rate, slowFaults)
	}
	s.mu.Lock()
	x := s.rng.Float64()
	wait := time.Duration(s.rng.Int64N(int64(slowest)))
	s.mu.Unlock()
	switch {
	case x < rate/2:
		return fate{lost: true}
	case x < rate:
		return fate{unheard: true}
	case x < rate*1.5:
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
	return fate{}
}

const slowest = 300 * time.Millisecond

// Of a store that is slow.
const (
	slowCall   = 2 * time.Second
	slowFaults = 0.01
)

// slowly takes its time, while the store is slow.
func (s *store) slowly(ctx context.Context) error {
	if !there(s.armed.plan.Slow) {
		return nil
	}
	select {
	case <-time.After(slowCall):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// there reports whether a file exists.
func there(path string) bool {
	if path == "" {
		return false
	}
	_, err := os.Stat(path)
	return err == nil
}

func fault(op, key string) error { return fmt.Errorf("%s %s: %w", op, key, ErrInjected) }

// write runs one writing call under its fate.
func (s *store) write(ctx context.Context, op, key string, body io.Reader, do func(io.ReadSeeker) error) error {
	data, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	f := s.draw(ctx)
	if f.lost {
		return fault(op, key)
	}
	if err := s.slowly(ctx); err != nil {
		return err
	}
	err = do(bytes.NewReader(data))
	if f.unheard {
		return fault(op, key)
	}
	return err
}

func (s *store) Put(ctx context.Context, key string, body io.ReadSeeker) error {
	kind := s.kind(key)
	points, ok := kinds[kind]
	if ok {
		s.armed.pass(points[0])
	}
	return s.write(ctx, "put", key, body, func(b io.ReadSeeker) error {
		err := s.Store.Put(ctx, key, b)
		if err == nil && ok {
			s.armed.pass(points[1])
		}
		if err == nil && kind == "manifest" {
			s.armed.pass(StubAfter)
		}
		return err
	})
}

func (s *store) PutIfAbsent(ctx context.Context, key string, body io.ReadSeeker) (w checkpoint.Written, err error) {
	manifest := s.kind(key) == "manifest"
	if manifest {
		s.armed.pass(Commit)
	}
	err = s.write(ctx, "put if absent", key, body, func(b io.ReadSeeker) (err error) {
		w, err = s.Store.PutIfAbsent(ctx, key, b)
		if manifest && err == nil && w.Stored {
			s.armed.pass(CommitAfter)
		}
		return err
	})
	if err != nil {
		return checkpoint.Written{}, err
	}
	return w, nil
}

func (s *store) Get(ctx context.Context, key string) (checkpoint.Object, error) {
	switch s.kind(key) {
	case "part":
		s.armed.pass(Restore)
		if err := s.slowly(ctx); err != nil {
			return checkpoint.Object{}, err
		}
	case "outbox":
		defer s.armed.pass(Publish)
	}
	if f := s.draw(ctx); f.lost || f.unheard {
		return checkpoint.Object{}, fault("get", key)
	}
	return s.Store.Get(ctx, key)
}

func (s *store) Stat(ctx context.Context, key string) (checkpoint.Info, error) {
	if f := s.draw(ctx); f.lost || f.unheard {
		return checkpoint.Info{}, fault("stat", key)
	}
	return s.Store.Stat(ctx, key)
}

func (s *store) List(ctx context.Context, prefix, after string) iter.Seq2[checkpoint.Info, error] {
	if f := s.draw(ctx); f.lost || f.unheard {
		return func(yield func(checkpoint.Info, error) bool) { yield(checkpoint.Info{}, fault("list", prefix)) }
	}
	return s.Store.List(ctx, prefix, after)
}

func (s *store) Delete(ctx context.Context, key string) error {
	if s.kind(key) != "check" {
		s.armed.pass(Garbage)
	}
	f := s.draw(ctx)
	if f.lost {
		return fault("delete", key)
	}
	err := s.Store.Delete(ctx, key)
	if f.unheard {
		return fault("delete", key)
	}
	return err
}
