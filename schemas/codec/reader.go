package codec

import (
	"fmt"
	"maps"
	"sync"
	"sync/atomic"

	"taximeter/schemas"
)

// Reader reads whole records of one contract, for the edges: files, consoles, the lake.
// What a writer schema lacks stays zero; what it has more is skipped. Safe for concurrent
// use.
type Reader[T any] struct {
	contract []field[T]

	mu    sync.Mutex // held by who replaces plans
	plans atomic.Pointer[map[int]learned[T]]
}

// learned is what became of a writer schema: its plan, or why it has none.
type learned[T any] struct {
	plan  *plan[T]
	unfit error
}

func newReader[T any](contract []field[T]) *Reader[T] {
	r := &Reader[T]{contract: contract}
	r.plans.Store(&map[int]learned[T]{})
	return r
}

func NewTelemetryReader() *Reader[schemas.TelemetryRecord] { return newReader(telemetryFields()) }
func NewRideReader() *Reader[schemas.RideRecord]           { return newReader(rideFields(known)) }
func NewPaymentReader() *Reader[schemas.PaymentRecord]     { return newReader(paymentFields(known)) }

// NewVerbatimRideReader keeps an unknown symbol of tipo as it was written, for archives.
func NewVerbatimRideReader() *Reader[schemas.RideRecord] { return newReader(rideFields(verbatim)) }

// NewVerbatimPaymentReader keeps an unknown symbol of tipo as it was written, for archives.
func NewVerbatimPaymentReader() *Reader[schemas.PaymentRecord] {
	return newReader(paymentFields(verbatim))
}

func NewTariffReader() *Reader[schemas.Tariff] { return newReader(tariffFields()) }
func NewRuleReader() *Reader[schemas.Rule]     { return newReader(ruleFields()) }

// Learn compiles the writer schema of an id. References are the texts of the schemas
// whose named types it uses without defining them, each after those it uses itself. The
// error wraps ErrSchema; the refusal is remembered, so that values of that id are refused
// with it from then on instead of being unknown.
func (r *Reader[T]) Learn(id int, writerSchema string, references ...string) error {
	var l learned[T]
	n, err := parse(writerSchema, references)
	if err == nil {
		if l.plan, err = compile(n, r.contract); err != nil {
			err = fmt.Errorf("%w: %w", ErrSchema, err)
		}
	}
	if err != nil {
		l.unfit = fmt.Errorf("schema id %d: %w", id, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	next := maps.Clone(*r.plans.Load())
	next[id] = l
	r.plans.Store(&next)
	return l.unfit
}

// Knows reports whether Learn was told of an id, fit or not.
func (r *Reader[T]) Knows(id int) bool {
	_, known := (*r.plans.Load())[id]
	return known
}

// Decode reads one value. The record keeps nothing of it. An id not learned is an
// *UnknownSchemaError.
func (r *Reader[T]) Decode(value []byte) (T, error) {
	var t, zero T
	p, err := r.planFor(value)
	if err != nil {
		return zero, err
	}
	if err := p.run(string(value[frameLen:]), &t); err != nil {
		return zero, err
	}
	return t, nil
}

func (r *Reader[T]) planFor(value []byte) (*plan[T], error) {
	id, err := SchemaID(value)
	if err != nil {
		return nil, err
	}
	l, ok := (*r.plans.Load())[id]
	if !ok {
		return nil, &UnknownSchemaError{ID: id}
	}
	return l.plan, l.unfit
}
