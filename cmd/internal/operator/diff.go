package operator

import (
	"fmt"

	"taximeter/checkpoint"
	"taximeter/schemas"
)

// Diff is what changed from one manifest to a later (or earlier) one.
type Diff struct {
	From       checkpoint.Number `json:"de"`
	To         checkpoint.Number `json:"para"`
	Partitions []PartitionDiff   `json:"particoes"` // those that differ
	Same       int               `json:"iguais"`    // partitions that do not
}

// PartitionDiff is what changed in one entry.
type PartitionDiff struct {
	Partition schemas.Partition `json:"particao"`
	FromOwner checkpoint.NodeID `json:"donoDe,omitempty"`
	ToOwner   checkpoint.NodeID `json:"donoPara,omitempty"`
	Epochs    checkpoint.Epoch  `json:"epocas"` // how many more
	// Offsets are how many more of each topic the cut reflects.
	Offsets   [schemas.NumInputs]int64 `json:"offsets"`
	Watermark schemas.Millis           `json:"watermarkMs"` // how much further, ms; 0 where either is not a time
	Shared    int                      `json:"arquivosComuns"`
	Added     int                      `json:"arquivosNovos"`
	Dropped   int                      `json:"arquivosLargados"`
	Bytes     int64                    `json:"bytesNovos"` // of the files added
	Pending   int                      `json:"publicacoesPendentes"`
}

// Compare tells what changed between two manifests of one namespace.
func Compare(from, to checkpoint.Manifest) (Diff, error) {
	d := Diff{From: from.Number, To: to.Number}
	if len(from.Entries) != len(to.Entries) {
		return d, fmt.Errorf("checkpoint %d has %d partitions and %d has %d", from.Number, len(from.Entries), to.Number, len(to.Entries))
	}
	for p := range from.Entries {
		if x := compareEntry(schemas.Partition(p), from.Entries[p], to.Entries[p]); x != (PartitionDiff{Partition: x.Partition, FromOwner: x.ToOwner, ToOwner: x.ToOwner, Shared: x.Shared}) {
			d.Partitions = append(d.Partitions, x)
		} else {
			d.Same++
		}
	}
	return d, nil
}

func compareEntry(p schemas.Partition, a, b checkpoint.Entry) PartitionDiff {
	d := PartitionDiff{Partition: p, FromOwner: a.Owner, ToOwner: b.Owner, Epochs: b.Epoch - a.Epoch, Pending: len(b.Pending) - len(a.Pending)}
	for t := range d.Offsets {
		d.Offsets[t] = int64(b.Next[t] - a.Next[t])
	}
	if timed(a.Watermark) && timed(b.Watermark) {
		d.Watermark = b.Watermark - a.Watermark
	}
	before := make(map[string]bool, len(a.Files))
	for _, f := range a.Files {
		before[f.Key] = true
	}
	for _, f := range b.Files {
		if before[f.Key] {
			d.Shared++
			continue
		}
		d.Added++
		d.Bytes += f.Size
	}
	d.Dropped = len(a.Files) - d.Shared
	return d
}

func timed(t schemas.Millis) bool { return t != schemas.NoTime && t != schemas.EndOfTime }
