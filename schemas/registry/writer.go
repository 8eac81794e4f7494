package registry

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// decision looks at the state and says which record to append; nil key = none is needed.
type decision func(*state) (key, value []byte, err error)

// append writes the record that decide asks for and returns once it was read back. decide
// sees a state to which no other server has added, or else the write does not happen and
// decide is asked again:
//
// A new writer first takes the transactional id, which ends every other writer's
// transaction one way or the other and fences it for good; only then does it read to the
// log's end. As long as its transactions succeed, nobody has come after it.
func (s *Server) append(ctx context.Context, decide decision) error {
	select {
	case <-s.writing:
	case <-ctx.Done():
		return fmt.Errorf("wait for other writes: %w", ctx.Err())
	}
	defer func() { s.writing <- struct{}{} }()
	for attempt := 0; ; attempt++ {
		err := s.tryAppend(ctx, decide)
		var refused *refusal
		if err == nil || errors.As(err, &refused) {
			return err
		}
		// After any error what became of the transaction is not known: begin anew.
		s.dropWriter()
		if ctx.Err() != nil {
			return err
		}
		s.cfg.Log.Debug("schema registry writes again", "topic", s.cfg.Topic, "attempt", attempt, "err", err)
		// Two servers that fence each other in step would never get done.
		pause := time.Duration(rand.Int64N(int64(5*time.Millisecond) << min(attempt, 6)))
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		}
	}
}

func (s *Server) tryAppend(ctx context.Context, decide decision) error {
	if s.writer == nil {
		if err := s.takeTurn(ctx); err != nil {
			return err
		}
	}
	s.mu.RLock()
	key, value, err := decide(s.state)
	s.mu.RUnlock()
	if err != nil || key == nil {
		return err
	}
	offset, err := s.commit(ctx, &kgo.Record{Topic: s.cfg.Topic, Key: key, Value: value})
	if err != nil {
		return err
	}
	if offset < 0 {
		// The broker took a repeated request for what it was, and does not say where the record
		// stands. It is committed: decide again until it shows.
		return errUnplaced
	}
	return s.reach(ctx, offset+1)
}

// errUnplaced is a committed record whose place is not known.
var errUnplaced = errors.New("the record was written, its offset is not known")

// takeTurn makes the writer, in the order that append explains.
func (s *Server) takeTurn(ctx context.Context) error {
	writer, err := kgo.NewClient(append(s.cfg.Kafka[:len(s.cfg.Kafka):len(s.cfg.Kafka)],
		kgo.TransactionalID("taximeter."+s.cfg.Topic), // the same in every server of the topic
		kgo.TransactionTimeout(8*time.Second),         // how long a crashed server can hold readers back
		kgo.ProducerLinger(0),
	)...)
	if err != nil {
		return fmt.Errorf("make a writer: %w", err)
	}
	s.writer = writer
	if _, _, err := writer.ProducerID(ctx); err != nil {
		return fmt.Errorf("take the turn to write: %w", err)
	}
	return s.catchUp(ctx)
}

func (s *Server) commit(ctx context.Context, r *kgo.Record) (int64, error) {
	if err := s.writer.BeginTransaction(); err != nil {
		return 0, fmt.Errorf("begin to write: %w", err)
	}
	offset, err := produce(ctx, s.writer, r)
	if errors.Is(err, kerr.MessageTooLarge) {
		return 0, refuse(codeSchemaTooLarge, "Schema is too large for a Kafka record of %d bytes", len(r.Key)+len(r.Value))
	}
	if err != nil {
		return 0, fmt.Errorf("write: %w", err)
	}
	if err := s.writer.EndTransaction(ctx, kgo.TryCommit); err != nil {
		return 0, fmt.Errorf("commit: %w", err)
	}
	return offset, nil
}

func (s *Server) dropWriter() {
	if s.writer != nil {
		s.writer.Close()
		s.writer = nil
	}
}

// closeWriter waits for a write under way and closes the writer.
func (s *Server) closeWriter() {
	<-s.writing
	s.dropWriter()
	s.writing <- struct{}{}
}
