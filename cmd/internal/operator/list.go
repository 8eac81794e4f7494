package operator

import (
	"context"
	"errors"
	"fmt"

	"taximeter/checkpoint"
	"taximeter/schemas"
)

// Summary is one manifest in a list.
type Summary struct {
	Number    checkpoint.Number  `json:"numero"`
	Lineage   checkpoint.Lineage `json:"linhagem"`
	Cause     checkpoint.Cause   `json:"causa"`
	CreatedAt schemas.Millis     `json:"criadoEm"`
	CreatedBy checkpoint.NodeID  `json:"criadoPor"`
	Sealed    int                `json:"particoesCortadas"` // partitions whose entry it made
	Pending   int                `json:"publicacoesPendentes"`
	Files     int                `json:"arquivos"` // cited, shared ones counted once
	Bytes     int64              `json:"bytes"`
	NewBytes  int64              `json:"bytesNovos"` // uploaded for this one
	Reason    string             `json:"motivo,omitempty"`
	Damaged   bool               `json:"danificado,omitempty"` // it cannot be read, and nothing else of it is known
}

// List reads the retained manifests, newest first, at most so many (0 = all). One that is
// damaged is told as such: what else there is must be seen just then.
func List(ctx context.Context, chain *checkpoint.Chain, most int) ([]Summary, error) {
	newest, err := chain.Newest(ctx)
	if err == nil && newest == 0 {
		err = checkpoint.ErrNoChain
	}
	if err != nil {
		return nil, err
	}
	audits, err := chain.Audits(ctx)
	if err != nil {
		return nil, err
	}
	var all []Summary
	oldest := checkpoint.Number(1) // until one can be read that tells
	for n := newest; n >= oldest && (most == 0 || len(all) < most); n-- {
		m, err := chain.Read(ctx, n)
		if errors.Is(err, checkpoint.ErrRetired) {
			break // the chain went on while we read
		}
		if _, damaged := errors.AsType[*checkpoint.CorruptError](err); damaged {
			all = append(all, Summary{Number: n, Damaged: true})
			continue
		}
		if err != nil {
			return all, err
		}
		oldest = max(oldest, m.Oldest)
		all = append(all, Summarize(m, audits))
	}
	return all, nil
}

// Summarize is one manifest in few words. audits may be nil.
func Summarize(m checkpoint.Manifest, audits []checkpoint.Audit) Summary {
	s := Summary{Number: m.Number, Lineage: m.Lineage, Cause: m.Cause, CreatedAt: m.CreatedAt, CreatedBy: m.CreatedBy, Reason: reason(m, audits)}
	for p, e := range m.Entries {
		if e.Made == m.Number {
			s.Sealed++
		}
		s.Pending += len(e.Pending)
		for _, f := range e.Files {
			s.Files++
			s.Bytes += f.Size
			if isNew(m, schemas.Partition(p), f) {
				s.NewBytes += f.Size
			}
		}
		for _, o := range e.Pending {
			if o.Made == m.Number {
				s.NewBytes += o.File.Size
			}
		}
	}
	return s
}

// isNew reports whether the seal that the manifest committed uploaded the file. Partitions
// share no files, since a key names its partition.
func isNew(m checkpoint.Manifest, p schemas.Partition, f checkpoint.File) bool {
	e := m.Entries[p]
	pl, ok := m.Namespace.PlaceOf(f.Key)
	return ok && e.Made == m.Number && pl.Seal == e.Seal
}

func reason(m checkpoint.Manifest, audits []checkpoint.Audit) string {
	for _, a := range audits {
		if a.Token == m.Token {
			return a.Reason
		}
	}
	return ""
}

// Read is manifest n, or the tip for n = 0, with an error that tells what there is.
func Read(ctx context.Context, chain *checkpoint.Chain, n checkpoint.Number) (checkpoint.Manifest, error) {
	tip, err := chain.Tip(ctx)
	if _, damaged := errors.AsType[*checkpoint.CorruptError](err); damaged && n > 0 {
		return chain.Read(ctx, n)
	}
	if err != nil || n == 0 {
		return tip, err
	}
	switch {
	case n > tip.Number:
		return tip, fmt.Errorf("there is no checkpoint %d yet: the newest is %d", n, tip.Number)
	case n < tip.Oldest:
		return tip, fmt.Errorf("checkpoint %d is no longer retained: the oldest that is has number %d", n, tip.Oldest)
	}
	return chain.Read(ctx, n)
}
