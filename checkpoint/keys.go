package checkpoint

import (
	"fmt"
	"strconv"
	"strings"

	"taximeter/schemas"
)

// Namespace is the first folder of every key of one installation. Several share a bucket
// without knowing of each other.
type Namespace string

// The folders of a namespace: the only place where the layout of the store is written down.
//
//	<ns>/manifest/<number, 20 digits>
//	<ns>/part/<partition>/<epoch>-<seal>-<hash>     files of a state store
//	<ns>/seal/<partition>/<epoch>-<seal>
//	<ns>/outbox/<partition>/<epoch>-<seal>-<hash>
//	<ns>/stage/<partition>/<epoch>-<seal>-<hash>    what sinks staged
//	<ns>/node/<id>                                  heartbeats
//	<ns>/audit/<token>                              what operators did; kept for ever
const (
	folderManifest = "manifest"
	folderPart     = "part"
	folderSeal     = "seal"
	folderOutbox   = "outbox"
	folderStage    = "stage"
	folderNode     = "node"
	folderAudit    = "audit"
)

// hashDigits of a file's SHA-256 go into its name: with 128 bits two contents of one seal
// do not meet.
const hashDigits = 32

// Check refuses names that a folder or a bucket could not hold as one path segment.
func (ns Namespace) Check() error { return checkSegment("namespace", string(ns)) }

// Check refuses ids that a folder or a bucket could not hold as one path segment.
func (id NodeID) Check() error { return checkSegment("node id", string(id)) }

func checkSegment(what, s string) error {
	if s == "" || len(s) > 128 || s[0] == '.' || s[0] == '-' {
		return fmt.Errorf("%s %q: use 1 to 128 letters, digits, dots, hyphens or underscores, beginning with a letter or digit", what, s)
	}
	for _, c := range s {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '.' && c != '-' && c != '_' {
			return fmt.Errorf("%s %q: %q is not allowed; use letters, digits, dots, hyphens and underscores", what, s, c)
		}
	}
	return nil
}

func (ns Namespace) folder(name string) string { return string(ns) + "/" + name + "/" }

// Manifest is the key of manifest n; padded, so that listings are in order.
func (ns Namespace) Manifest(n Number) string {
	return fmt.Sprintf("%s%020d", ns.folder(folderManifest), n)
}

// ManifestPrefix is the folder of all manifests.
func (ns Namespace) ManifestPrefix() string { return ns.folder(folderManifest) }

// manifestNumber is the number in a manifest's key.
func (ns Namespace) manifestNumber(key string) (Number, bool) {
	digits, ok := strings.CutPrefix(key, ns.ManifestPrefix())
	n, err := strconv.ParseInt(digits, 10, 64)
	return Number(n), ok && err == nil && len(digits) == 20 && n > 0
}

// Node is the key of a node's heartbeat.
func (ns Namespace) Node(id NodeID) string { return ns.folder(folderNode) + string(id) }

// Audit is the key of the record of what an operator did.
func (ns Namespace) Audit(token string) string { return ns.folder(folderAudit) + token }

// AuditPrefix is the folder of those records.
func (ns Namespace) AuditPrefix() string { return ns.folder(folderAudit) }

// Place is one seal of one partition: what it uploads is named by it.
type Place struct {
	Partition schemas.Partition
	Epoch     Epoch
	Seal      SealNumber
}

// After reports whether pl is later than the entry's (epoch, seal), so that it may still
// be committed or be cited by a seal that will.
func (pl Place) After(e Entry) bool {
	return pl.Epoch > e.Epoch || pl.Epoch == e.Epoch && pl.Seal > e.Seal
}

func (ns Namespace) sealed(folder string, pl Place) string {
	return fmt.Sprintf("%s%d/%010d-%012d", ns.folder(folder), pl.Partition, pl.Epoch, pl.Seal)
}

// Part is the key of one file of a state store; sha256 is its hexadecimal hash.
func (ns Namespace) Part(pl Place, sha256 string) string {
	return ns.sealed(folderPart, pl) + "-" + sha256[:hashDigits]
}

// Outbox is the key of a seal's outbox.
func (ns Namespace) Outbox(pl Place, sha256 string) string {
	return ns.sealed(folderOutbox, pl) + "-" + sha256[:hashDigits]
}

// Stage is the key of what a sink staged for a seal.
func (ns Namespace) Stage(pl Place, sha256 string) string {
	return ns.sealed(folderStage, pl) + "-" + sha256[:hashDigits]
}

// Seal is the key of a seal.
func (ns Namespace) Seal(pl Place) string { return ns.sealed(folderSeal, pl) }

// SealPrefix is the folder of all seals.
func (ns Namespace) SealPrefix() string { return ns.folder(folderSeal) }

// CollectedPrefixes are the folders that garbage collection looks through. Manifests,
// heartbeats and audit records are not among them.
func (ns Namespace) CollectedPrefixes() []string {
	return []string{ns.folder(folderPart), ns.folder(folderSeal), ns.folder(folderOutbox), ns.folder(folderStage)}
}

// PlaceOf finds which seal uploaded the object; ok is false for every key that this layout
// did not make.
func (ns Namespace) PlaceOf(key string) (pl Place, ok bool) {
	parts := strings.Split(key, "/")
	if len(parts) != 4 || parts[0] != string(ns) {
		return Place{}, false
	}
	names := strings.Split(parts[3], "-")
	switch parts[1] {
	case folderPart, folderOutbox, folderStage:
		ok = len(names) == 3 && len(names[2]) == hashDigits
	case folderSeal:
		ok = len(names) == 2
	}
	if !ok {
		return Place{}, false
	}
	p, err1 := strconv.ParseInt(parts[2], 10, 32)
	epoch, err2 := strconv.ParseInt(names[0], 10, 64)
	seal, err3 := strconv.ParseInt(names[1], 10, 64)
	pl = Place{Partition: schemas.Partition(p), Epoch: Epoch(epoch), Seal: SealNumber(seal)}
	return pl, err1 == nil && err2 == nil && err3 == nil && strings.HasPrefix(key, ns.sealed(parts[1], pl))
}
