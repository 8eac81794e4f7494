package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"taximeter/checkpoint"
)

// ErrInjected is the error of every call that Faults spoilt.
var ErrInjected = errors.New("injected fault")

// Op names a call of the Store port.
type Op string

const (
	OpPut         Op = "put"
	OpPutIfAbsent Op = "put if absent"
	OpPutIfMatch  Op = "put if match"
	OpGet         Op = "get"
	OpStat        Op = "stat"
	OpList        Op = "list"
	OpDelete      Op = "delete"
)

// Fault is what becomes of one call.
type Fault uint8

const (
	None       Fault = iota
	Lost             // no effect, error
	DropAnswer       // effect, error
	Delay            // error now, effect when what was given to Delayed is called; reads: as Lost
)

// Faults passes calls on to Store after asking Plan what shall become of each. Every field
// is set before use; Plan and Delayed are called by the goroutine that calls the store.
type Faults struct {
	Store   checkpoint.Store
	Plan    func(op Op, key string) Fault
	Delayed func(effect func())
}

func injected(op Op, key string) error { return fmt.Errorf("%s %s: %w", op, key, ErrInjected) }

func (f *Faults) write(ctx context.Context, op Op, key string, body io.Reader, do func(context.Context, io.ReadSeeker) error) error {
	var data []byte
	if body != nil {
		var err error
		if data, err = io.ReadAll(body); err != nil {
			return err
		}
	}
	switch f.Plan(op, key) {
	case Lost:
		return injected(op, key)
	case DropAnswer:
		return errors.Join(injected(op, key), do(ctx, bytes.NewReader(data)))
	case Delay:
		f.Delayed(func() { _ = do(context.WithoutCancel(ctx), bytes.NewReader(data)) }) // nobody waits for the answer
		return injected(op, key)
	}
	return do(ctx, bytes.NewReader(data))
}

func (f *Faults) Put(ctx context.Context, key string, body io.ReadSeeker) error {
	return f.write(ctx, OpPut, key, body, func(ctx context.Context, b io.ReadSeeker) error { return f.Store.Put(ctx, key, b) })
}

func (f *Faults) PutIfAbsent(ctx context.Context, key string, body io.ReadSeeker) (checkpoint.Written, error) {
	var got checkpoint.Written
	err := f.write(ctx, OpPutIfAbsent, key, body, func(ctx context.Context, b io.ReadSeeker) (err error) {
		got, err = f.Store.PutIfAbsent(ctx, key, b)
		return err
	})
	if err != nil {
		return checkpoint.Written{}, err
	}
	return got, nil
}

func (f *Faults) PutIfMatch(ctx context.Context, key, etag string, body io.ReadSeeker) (checkpoint.Written, error) {
	var got checkpoint.Written
	err := f.write(ctx, OpPutIfMatch, key, body, func(ctx context.Context, b io.ReadSeeker) (err error) {
		got, err = f.Store.PutIfMatch(ctx, key, etag, b)
		return err
	})
	if err != nil {
		return checkpoint.Written{}, err
	}
	return got, nil
}

func (f *Faults) Delete(ctx context.Context, key string) error {
	return f.write(ctx, OpDelete, key, nil, func(ctx context.Context, _ io.ReadSeeker) error { return f.Store.Delete(ctx, key) })
}

func (f *Faults) Get(ctx context.Context, key string) (checkpoint.Object, error) {
	if f.Plan(OpGet, key) != None {
		return checkpoint.Object{}, injected(OpGet, key)
	}
	return f.Store.Get(ctx, key)
}

func (f *Faults) Stat(ctx context.Context, key string) (checkpoint.Info, error) {
	if f.Plan(OpStat, key) != None {
		return checkpoint.Info{}, injected(OpStat, key)
	}
	return f.Store.Stat(ctx, key)
}

func (f *Faults) List(ctx context.Context, prefix, after string) iter.Seq2[checkpoint.Info, error] {
	if f.Plan(OpList, prefix) != None {
		return func(yield func(checkpoint.Info, error) bool) { yield(checkpoint.Info{}, injected(OpList, prefix)) }
	}
	return f.Store.List(ctx, prefix, after)
}
