package checkpoint

import "fmt"

// Protocol is a version of all that the nodes of a namespace must agree on: what manifests,
// outboxes and the state of partitions hold, and what nodes ask each other. The chain says which one is spoken. It
// rises once every member speaks a higher one, and never falls: what was written under it
// is not readable for those that do not.
type Protocol uint32

const (
	// Protocol1 is what the chain speaks where it does not say.
	Protocol1 Protocol = 1
	// Protocol2: manifests name the protocol, outboxes have verdicts and trips, nodes keep
	// copies of each other's partitions and tell of them in their heartbeats.
	Protocol2 Protocol = 2
	// Protocol3: partitions put new trips behind all that are stored (partition.ByAge).
	Protocol3 Protocol = 3
	// OldestProtocol and NewestProtocol bound what this program speaks.
	OldestProtocol = Protocol1
	NewestProtocol = Protocol3
)

// manifestFormat is that of an encoded manifest: format 2 has the protocol.
func (p Protocol) manifestFormat() int { return int(min(p, Protocol2)) }

// outboxFormat is that of an encoded outbox.
func (p Protocol) outboxFormat() int64 { return int64(min(p, Protocol2)) }

// Speaks is the protocol of what is written after the manifest.
func (m Manifest) Speaks() Protocol { return max(m.Protocol, Protocol1) }

// NewerProtocolError is a namespace that speaks a later protocol than this program.
type NewerProtocolError struct {
	Key        string
	Have, Want Protocol // newest that this program speaks; the manifest's
}

func (e *NewerProtocolError) Error() string {
	return fmt.Sprintf("%s: the namespace speaks protocol %d and this taximeter up to %d: upgrade this node; there is no way back to a version that speaks less", e.Key, e.Want, e.Have)
}

// Speak raises the protocol. Whoever asks for it has seen that every member speaks it: a
// member that does not could not read the manifest.
type Speak struct{ Protocol Protocol }

func (c Speak) apply(m *Manifest, tip Manifest, _ Limits) error {
	if c.Protocol <= tip.Speaks() || c.Protocol > NewestProtocol {
		return fmt.Errorf("protocol %d does not follow %d: a namespace speaks the same for ever, or a later one up to %d", c.Protocol, tip.Speaks(), NewestProtocol)
	}
	m.Protocol = c.Protocol
	return nil
}
