package operator

import (
	"context"

	"taximeter/checkpoint"
	"taximeter/schemas"
)

// Details are one manifest, partition by partition.
type Details struct {
	Summary
	Namespace  checkpoint.Namespace `json:"namespace"`
	Oldest     checkpoint.Number    `json:"maisAntigo"` // of those retained
	Members    []checkpoint.NodeID  `json:"membros"`
	Partitions []Partition          `json:"particoes"`
}

// Partition is an entry.
type Partition struct {
	Partition    schemas.Partition      `json:"particao"`
	Owner        checkpoint.NodeID      `json:"dono,omitempty"` // "" = nobody runs it
	Epoch        checkpoint.Epoch       `json:"epoca"`
	Incarnation  checkpoint.Incarnation `json:"encarnacao,omitempty"`
	Made         checkpoint.Number      `json:"feitoPor"` // manifest that made the cut
	Seal         checkpoint.SealNumber  `json:"corte"`
	Next         checkpoint.Offsets     `json:"proximosOffsets"`
	Moved        *checkpoint.Offsets    `json:"arquivosEm,omitempty"` // where the files stand, if an operator moved the offsets
	Watermark    schemas.Millis         `json:"watermark"`
	Files        int                    `json:"arquivos"`
	Bytes        int64                  `json:"bytes"`
	NewBytes     int64                  `json:"bytesNovos"`
	Pending      []Pending              `json:"publicacoesPendentes,omitempty"`
	AlertsUnsent int                    `json:"alertasPorEnviar"`
	AlertsSeen   int                    `json:"alertasVistos"`
	// Abandoned is not nil while a restore's replay has not come to where the line stood
	// that it left behind.
	Abandoned *checkpoint.Abandoned `json:"abandonada,omitempty"`
}

// Pending is an outbox that was not known as published.
type Pending struct {
	Made    checkpoint.Number `json:"feitoPor"`
	Bills   int               `json:"faturas"`
	Windows int               `json:"janelas"`
	Letters int               `json:"dlq"`
	Bytes   int64             `json:"bytes"`
	Fault   string            `json:"erro,omitempty"` // why it cannot be read
}

// Show reads what the pending outboxes of a manifest hold. One that cannot be read is told
// in its place.
func Show(ctx context.Context, st checkpoint.Store, chain *checkpoint.Chain, m checkpoint.Manifest) (Details, error) {
	audits, err := chain.Audits(ctx)
	if err != nil {
		return Details{}, err
	}
	d := Details{Summary: Summarize(m, audits), Namespace: m.Namespace, Oldest: m.Oldest, Members: m.Members}
	for p, e := range m.Entries {
		part := Partition{Partition: schemas.Partition(p), Owner: e.Owner, Epoch: e.Epoch, Incarnation: e.Incarnation, Made: e.Made, Seal: e.Seal,
			Next: e.Next, Moved: e.Cut, Watermark: e.Watermark, Files: len(e.Files), AlertsUnsent: len(e.Alerts.Unsent), AlertsSeen: len(e.Alerts.Seen),
			Abandoned: e.Abandoned}
		for _, f := range e.Files {
			part.Bytes += f.Size
			if isNew(m, schemas.Partition(p), f) {
				part.NewBytes += f.Size
			}
		}
		for _, ref := range e.Pending {
			part.Pending = append(part.Pending, pendingOf(ctx, st, ref))
		}
		d.Partitions = append(d.Partitions, part)
	}
	return d, ctx.Err()
}

func pendingOf(ctx context.Context, st checkpoint.Store, ref checkpoint.OutboxRef) Pending {
	p := Pending{Made: ref.Made, Bytes: ref.File.Size}
	o, err := ReadOutbox(ctx, st, ref)
	if err != nil {
		p.Fault = err.Error()
	}
	p.Bills, p.Windows, p.Letters = len(o.Bills), len(o.Windows), len(o.DeadLetters)
	return p
}

// ReadOutbox reads an outbox that waits for publication; one that was only staged is empty.
func ReadOutbox(ctx context.Context, st checkpoint.Store, ref checkpoint.OutboxRef) (schemas.Outbox, error) {
	if ref.File == (checkpoint.File{}) {
		return schemas.Outbox{}, nil // only staged
	}
	data, err := checkpoint.ReadFile(ctx, st, ref.File)
	if err != nil {
		return schemas.Outbox{}, err
	}
	return checkpoint.DecodeOutbox(ref.File.Key, data)
}
