package checkpoint

import "taximeter/schemas"

type (
	// Number is a manifest's place in the chain. The first is 1, each next one is the tip
	// plus one, and numbers never fall, not even in a restore. 0 = none.
	Number int64

	// Lineage counts the restores of a chain; the first is 1. Within one lineage the
	// entries of a partition grow from each other without going back.
	Lineage int64

	// Epoch counts the runs of one partition: every start, move, release and restore adds
	// one. Of two writers of a partition the one with the smaller epoch is revoked.
	Epoch int64

	// Incarnation is one run of one owner. The owner's node chooses it and never uses it
	// again, nor in a later life (e.g. its start in nanoseconds, then counting up): so a
	// restarted process knows that a manifest meant an earlier life of it.
	Incarnation int64

	// SealNumber counts the seals of a partition. It goes on across epochs, because garbage
	// collection compares (epoch, seal number) with the tip's. After a restore it resumes at
	// the restored entry's, under a greater epoch.
	SealNumber int64

	// NodeID names a node of the cluster, the same in every life of it.
	NodeID string
)

// File is an object in the store together with what it must contain.
type File struct {
	Name   string `json:"name,omitempty"` // local file name of a part of a state store; else ""
	Key    string `json:"key"`
	Size   int64  `json:"size"` // bytes
	SHA256 string `json:"sha256"`
}

// OutboxRef cites what one entry publishes, until it is published.
type OutboxRef struct {
	Made   Number `json:"made,omitempty"`   // manifest that made the entry; 0 until committed
	File   File   `json:"file,omitzero"`    // an encoded schemas.Outbox; zero = none
	Staged []File `json:"staged,omitempty"` // what sinks staged for the same cut, e.g. lists of lake files
}

// Empty reports whether there is nothing to publish.
func (o OutboxRef) Empty() bool { return o.File == File{} && len(o.Staged) == 0 }

// Alerts is what a new owner needs to send each alert once. It reads the marker log from
// LogNext to its end, suppresses the ids it finds there, and sends the rest of Unsent and
// whatever replay decides that is neither found nor in Seen.
type Alerts struct {
	Unsent []schemas.Alert `json:"unsent,omitempty"` // decided before the cut, not acknowledged at it
	Seen   []string        `json:"seen,omitempty"`   // ids known as sent that replay has not reached yet
	// LogNext is the position in the alert marker log after the last alert that was acknowledged. They
	// are sent one lot after the other, so every id in Unsent that was sent after all lies at or after
	// it, and nothing that was decided before the cut lies there but those.
	LogNext schemas.Offset `json:"logNext"`
}
