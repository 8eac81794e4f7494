package operator

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"taximeter/actors/partition"
	"taximeter/checkpoint"
	"taximeter/checkpoint/pebblestore"
	"taximeter/schemas"
)

// Report is what a verification found.
type Report struct {
	Number  checkpoint.Number `json:"numero"`
	Files   int               `json:"arquivos"`
	Bytes   int64             `json:"bytes"`
	Outbox  Pending           `json:"publicacoesPendentes"` // all together
	Headers int               `json:"cabecalhos"`           // partitions that have a state
	Trips   int64             `json:"viagens"`
	Records int64             `json:"registros"` // with a verdict, all partitions together
	Orphans []Orphans         `json:"linhasSemViagem"`
	Faults  []Fault           `json:"falhas"`
}

// Fault is one thing that is not as it was written.
type Fault struct {
	Partition schemas.Partition `json:"particao"`
	Key       string            `json:"chave,omitempty"` // of the object; "" = of the state as a whole
	Detail    string            `json:"detalhe"`
}

// Orphans are rows of trips in a partition's state that no trip knows of: what they hold is out
// of reach, or was to be removed.
type Orphans struct {
	Partition schemas.Partition `json:"particao"`
	Rows      int64             `json:"linhas"`
	Trip      schemas.TripID    `json:"viagem"` // by the key of the first; "" = its key is none of a trip's
}

// VerifyOptions of a verification.
type VerifyOptions struct {
	Scratch string // folder for the state of one partition at a time
	Log     *slog.Logger
	// OnProgress is told how many bytes of how many were read.
	OnProgress func(read, size int64)
}

// Verify reads everything that a manifest cites: each file must have its size and checksum,
// each outbox decode, each partition's state open, its header stand where the manifest says
// and account for every offset, each trip in it read, and each row of a trip be one that the trip
// knows of. It goes on after a fault.
func Verify(ctx context.Context, st checkpoint.Store, m checkpoint.Manifest, o VerifyOptions) (Report, error) {
	r := Report{Number: m.Number, Orphans: []Orphans{}, Faults: []Fault{}}
	v := verifier{report: &r, store: &counting{Store: st, show: o.OnProgress}, scratch: o.Scratch}
	for _, e := range m.Entries {
		for _, f := range cited(e) {
			v.store.size += f.Size
		}
	}
	v.shared = pebblestore.NewShared(pebblestore.Default(), o.Log)
	defer v.shared.Close()
	for p, e := range m.Entries {
		if err := v.entry(ctx, schemas.Partition(p), e); err != nil {
			return r, err
		}
	}
	return r, nil
}

// cited are the objects of an entry.
func cited(e checkpoint.Entry) []checkpoint.File {
	files := append([]checkpoint.File(nil), e.Files...)
	for _, o := range e.Pending {
		if o.File != (checkpoint.File{}) {
			files = append(files, o.File)
		}
		files = append(files, o.Staged...)
	}
	return files
}

type verifier struct {
	report  *Report
	store   *counting
	shared  *pebblestore.Shared
	scratch string
}

func (v *verifier) fault(p schemas.Partition, key, format string, args ...any) {
	v.report.Faults = append(v.report.Faults, Fault{Partition: p, Key: key, Detail: fmt.Sprintf(format, args...)})
}

// entry returns an error only where verifying itself cannot go on.
func (v *verifier) entry(ctx context.Context, p schemas.Partition, e checkpoint.Entry) (err error) {
	for _, o := range e.Pending {
		box, err := ReadOutbox(ctx, v.store, o)
		if err != nil && ctx.Err() == nil {
			v.fault(p, o.File.Key, "%v", err)
		}
		v.report.Outbox.Bills += len(box.Bills)
		v.report.Outbox.Windows += len(box.Windows)
		v.report.Outbox.Letters += len(box.DeadLetters)
		v.report.Outbox.Bytes += o.File.Size
		for _, f := range o.Staged {
			v.file(ctx, p, f)
		}
	}
	for _, f := range cited(e) {
		v.report.Files++
		v.report.Bytes += f.Size
	}
	if len(e.Files) == 0 {
		return ctx.Err() // nothing was ever consumed
	}
	dir := filepath.Join(v.scratch, strconv.Itoa(int(p)))
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	before := v.store.add(0)
	state, err := pebblestore.Restore(ctx, v.store, e.Files, dir, v.shared)
	if err != nil {
		// It ends at the first fault; find all of them.
		v.store.add(before - v.store.add(0))
		sound := true
		for _, f := range e.Files {
			sound = v.file(ctx, p, f) && sound
		}
		if sound && ctx.Err() == nil {
			v.fault(p, "", "its files are whole and its state does not open: %v", err)
		}
		return ctx.Err()
	}
	if err := v.state(p, e, state); err != nil {
		v.fault(p, "", "%v", err)
	}
	return errors.Join(ctx.Err(), state.Close())
}

// file reports whether an object is what was written.
func (v *verifier) file(ctx context.Context, p schemas.Partition, f checkpoint.File) bool {
	err := hash(ctx, v.store, f)
	if err != nil && ctx.Err() == nil {
		v.fault(p, f.Key, "%v", err)
	}
	return err == nil
}

func hash(ctx context.Context, st checkpoint.Store, f checkpoint.File) (err error) {
	o, err := st.Get(ctx, f.Key)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.Body.Close()) }()
	sum := sha256.New()
	n, err := io.Copy(sum, o.Body)
	if err != nil {
		return fmt.Errorf("read %s: %w", f.Key, err)
	}
	return f.Verify(checkpoint.File{Size: n, SHA256: hex.EncodeToString(sum.Sum(nil))})
}

// state reads the header and every row of trips.
func (v *verifier) state(p schemas.Partition, e checkpoint.Entry, st *pebblestore.Store) error {
	head, found, err := st.Get(partition.HeaderKey())
	if err != nil {
		return err
	}
	if !found {
		return errors.New("its state has no header")
	}
	s, err := partition.ReadHeader(head, p)
	if err != nil {
		return err
	}
	v.report.Headers++
	for t, stands := range e.Stands() {
		if s.Positions[t].Next != stands {
			return fmt.Errorf("its state stands at offset %d of %s, the manifest at %d", s.Positions[t].Next, schemas.Topic(t), stands)
		}
	}
	if s.Watermark != e.Watermark {
		return fmt.Errorf("its state's watermark is %s, the manifest's %s", s.Watermark, e.Watermark)
	}
	if n := s.Imbalance(); n != 0 {
		return fmt.Errorf("%d offsets were consumed without a verdict", n)
	}
	for _, n := range s.Ledger.Verdicts {
		v.report.Records += n
	}
	return v.trips(p, st)
}

// trips reads every trip, and looks for rows that none has.
func (v *verifier) trips(p schemas.Partition, st *pebblestore.Store) error {
	left := Orphans{Partition: p}
	visit := func(key, _ []byte) error {
		if id, ok := partition.ParseTripKey(key); ok {
			v.report.Trips++
			_, err := partition.ReadTrip(TripReader{st}, id)
			return err
		}
		id, known, err := partition.Knows(TripReader{st}, key)
		if err != nil || known {
			return err
		}
		if left.Rows++; left.Rows == 1 {
			left.Trip = id
		}
		return nil
	}
	for _, keys := range []func() (start, end []byte){partition.TripKeys, partition.AgeKeys} {
		start, end := keys()
		if err := st.ScanRange(start, end, visit); err != nil {
			return err
		}
	}
	if left.Rows > 0 {
		v.report.Orphans = append(v.report.Orphans, left)
	}
	return nil
}

// TripReader is a state as partition.ReadTrip wants it.
type TripReader struct{ *pebblestore.Store }

// Due is for who runs the trips.
func (TripReader) Due(partition.DueTrip, schemas.Millis, int) ([]partition.DueTrip, error) {
	return nil, nil
}

// counting tells how many bytes were read through it.
type counting struct {
	checkpoint.Store
	size int64

	mu   sync.Mutex // guards read and calls of show: files come several at once
	read int64
	show func(read, size int64)
}

// add returns how much was read before.
func (c *counting) add(n int64) (before int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before = c.read
	c.read += n
	if c.show != nil {
		c.show(min(c.read, c.size), c.size)
	}
	return before
}

func (c *counting) Get(ctx context.Context, key string) (checkpoint.Object, error) {
	o, err := c.Store.Get(ctx, key)
	if err == nil {
		o.Body = &countingBody{o.Body, c}
	}
	return o, err
}

type countingBody struct {
	io.ReadCloser
	c *counting
}

func (b *countingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.c.add(int64(n))
	return n, err
}
