package iceberg

import (
	"context"
	"strconv"

	"github.com/apache/iceberg-go/table"

	"taximeter/schemas"
)

// Status is how the lake stands, read from metadata alone.
type Status struct {
	Checkpoint int64         `json:"checkpoint"` // every outbox up to this one is in
	Restores   int           `json:"restores"`   // followed
	Gaps       int64         `json:"gaps"`       // offsets that no outbox told of; anything but 0 is a fault
	Tables     []TableStatus `json:"tables"`
}

// TableStatus is one table. Rows counts those that deletes hide until they are merged.
type TableStatus struct {
	Table      string         `json:"table"`
	Checkpoint int64          `json:"checkpoint"` // of its newest rows
	Rows       int64          `json:"rows"`
	Files      int64          `json:"files"`
	Bytes      int64          `json:"bytes"`
	Deletes    int64          `json:"deletes"` // files of deletes not yet merged
	Snapshots  int            `json:"snapshots"`
	Committed  schemas.Millis `json:"committed"` // newest snapshot; NoTime = never
	Metadata   string         `json:"metadata"`  // where readers without the catalog begin
}

// Status reads every table's metadata.
func (l *Lake) Status(ctx context.Context) (Status, error) {
	ctx = l.reaching(ctx)
	var st Status
	for _, s := range l.shapes() {
		t, err := l.load(ctx, s)
		if err != nil {
			return st, err
		}
		p, err := progressOf(t)
		if err != nil {
			return st, err
		}
		one := TableStatus{Table: s.name, Checkpoint: int64(p.Made), Snapshots: len(t.Metadata().Snapshots()), Committed: schemas.NoTime, Metadata: t.MetadataLocation()}
		if snap := t.CurrentSnapshot(); snap != nil {
			one.Committed = schemas.Millis(snap.TimestampMs)
			one.Rows, one.Files = summary(snap, "total-records"), summary(snap, "total-data-files")
			one.Bytes, one.Deletes = summary(snap, "total-files-size"), summary(snap, "total-delete-files")
		}
		st.Tables = append(st.Tables, one)
		if s != &l.verdicts.shape {
			continue
		}
		st.Checkpoint, st.Restores = int64(p.Made), p.Restores
		if st.Gaps, err = propertyInt(t, propertyGaps); err != nil {
			return st, err
		}
	}
	return st, nil
}

// summary is a count of a snapshot's summary; 0 if its writer left it out.
func summary(s *table.Snapshot, key string) int64 {
	if s.Summary == nil {
		return 0
	}
	n, err := strconv.ParseInt(s.Summary.Properties[key], 10, 64)
	if err != nil {
		return 0
	}
	return n
}
