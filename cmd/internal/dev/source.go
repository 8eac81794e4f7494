package dev

import (
	"context"
	"fmt"
	"io"
	"time"

	"taximeter/cmd/internal/city"
	"taximeter/cmd/internal/events"
	"taximeter/cmd/internal/feed"
	"taximeter/schemas"
	"taximeter/schemas/edge"
)

// source is what a live run is fed with.
type source interface {
	// backlog sends what is to be in the log before the node starts.
	backlog(ctx context.Context) (sent int64, err error)
	// feed sends the rest as it happens, until it ends or ctx does.
	feed(ctx context.Context) error
	describe(backlog int64) string
}

func (r *run) source() (source, error) {
	if len(r.o.Events) > 0 {
		return &recording{run: r}, nil
	}
	c, err := city.New(r.city())
	return &living{run: r, city: c}, err
}

// city pays by the tariffs that the meter charges by.
func (r *run) city() city.Config {
	start, seed := schemas.Millis(r.began.UnixMilli()), r.o.Seed
	if r.fresh {
		start = start.Add(-cityPast)
	} else {
		seed ^= uint64(start) // other trips than those already in the log
	}
	cfg := city.Default(seed, start)
	cfg.EventsPerSecond, cfg.Tariffs = r.o.Rate, r.tariffs
	return cfg
}

// cityPast is how much of the city's life is in the log when it is shown first.
const cityPast = schemas.Hour

// living is the simulated city.
type living struct {
	run  *run
	city *city.City
	line *edge.Line // read, not sent yet
}

func (s *living) backlog(ctx context.Context) (int64, error) {
	var sent int64
	err := s.run.sending(ctx, func(ctx context.Context, send func(*edge.Line) error) error {
		for ; ; sent++ {
			line, ok := s.city.Next()
			if !ok || line.AppendedAt > now() {
				s.line = line
				return nil
			}
			if err := send(line); err != nil {
				return err
			}
		}
	})
	return sent, err
}

func (s *living) feed(ctx context.Context) error {
	return s.run.sending(ctx, func(ctx context.Context, send func(*edge.Line) error) error {
		for s.line != nil {
			if !sleepUntil(ctx, s.line.AppendedAt) {
				return nil
			}
			if err := send(s.line); err != nil {
				return err
			}
			s.line, _ = s.city.Next()
		}
		return nil
	})
}

func (s *living) describe(backlog int64) string {
	if !s.run.fresh {
		return fmt.Sprintf("The city goes on with other trips, %g events a second; those under way at the stop never end.", s.run.o.Rate)
	}
	return fmt.Sprintf("A simulated city drives: its last hour (%d events) is in the log, and it goes on live with %g events a second.", backlog, s.run.o.Rate)
}

// sleepUntil waits for an instant; false if ctx ended first.
func sleepUntil(ctx context.Context, at schemas.Millis) bool {
	wait := time.Until(at.Time())
	if wait <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// recording plays event files as if they happened now.
type recording struct {
	run   *run
	shift schemas.Millis
	span  time.Duration // of event time
}

// backlog sends nothing; it measures the recording.
func (s *recording) backlog(ctx context.Context) (int64, error) {
	first, last, err := events.Span(ctx, s.run.o.Events)
	s.span = time.Duration(last-first) * time.Millisecond
	s.shift = s.run.o.Speed.ToNow(first, last, now())
	return 0, err
}

func (s *recording) feed(ctx context.Context) error {
	files, err := events.Open(s.run.o.Events)
	if err != nil {
		return err
	}
	defer files.Close()
	pacer := feed.NewPacer(s.run.o.Speed)
	err = s.run.sending(ctx, func(ctx context.Context, send func(*edge.Line) error) error {
		for {
			line, err := files.Next()
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
			if err := pacer.Wait(ctx, line); err != nil {
				return err
			}
			line.Shift(s.shift)
			line.AppendedAt = now()
			if err := send(line); err != nil {
				return err
			}
		}
	})
	if ctx.Err() != nil {
		return nil // stopped
	}
	if err == nil {
		s.run.say("The recording is over; its last bills come within two and a half minutes.")
	}
	return err
}

func (s *recording) describe(int64) string {
	return fmt.Sprintf("A recording of %s plays, moved in time so that it happens now.", s.span.Round(time.Second))
}

// sendAll sends the event files as they are.
func (r *run) sendAll(ctx context.Context) error {
	files, err := events.Open(r.o.Events)
	if err != nil {
		return err
	}
	defer files.Close()
	if r.o.OnProduced != nil {
		defer r.o.OnProduced()
	}
	return r.sending(ctx, func(ctx context.Context, send func(*edge.Line) error) error {
		for n := 0; ; n++ {
			line, err := files.Next()
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
			if err := send(line); err != nil {
				return err
			}
			if n%256 == 0 && r.o.OnProgress != nil {
				r.o.OnProgress(files.Read(), files.Size())
			}
		}
	})
}

// sending runs a sender and waits until all it sent is in the log.
func (r *run) sending(ctx context.Context, do func(ctx context.Context, send func(*edge.Line) error) error) error {
	sending, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	err := do(sending, func(l *edge.Line) error {
		if err := r.world.Send(sending, l, func(err error) { fail(err) }); err != nil {
			return err
		}
		return nil
	})
	if flushErr := r.world.Flush(ctx); err == nil && ctx.Err() == nil {
		err = flushErr
	}
	if cause := context.Cause(sending); cause != nil && ctx.Err() == nil {
		return fmt.Errorf("the embedded broker did not take an event: %w", cause)
	}
	return err
}
