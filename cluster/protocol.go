package cluster

import (
	"errors"
	"fmt"

	"taximeter/checkpoint"
)

// Protocols is the range of protocols that a node speaks, both ends included.
type Protocols struct{ Min, Max checkpoint.Protocol }

// Common is the highest that both speak.
func (p Protocols) Common(o Protocols) (version checkpoint.Protocol, ok bool) {
	version = min(p.Max, o.Max)
	return version, version >= max(p.Min, o.Min)
}

// ErrNotSpoken is a protocol of the chain that a node does not speak.
var ErrNotSpoken = errors.New("not spoken here")

// Understands is why a node may not work under the tip; nil = it may. Alone, it may raise
// what is spoken, so too old a chain stops only a node that meets others.
func (p Protocols) Understands(tip checkpoint.Manifest, self checkpoint.NodeID) error {
	switch speaks := tip.Speaks(); {
	case speaks > p.Max:
		return fmt.Errorf("the namespace speaks protocol %d and this node up to %d: upgrade it, or raise cluster.protocol; what is written already cannot be read by less: %w", speaks, p.Max, ErrNotSpoken)
	case speaks < p.Min && !(len(tip.Members) == 0 || len(tip.Members) == 1 && tip.IsMember(self)):
		return fmt.Errorf("the namespace speaks protocol %d and this node from %d on: upgrade the other nodes first, to a version that speaks both: %w", speaks, p.Min, ErrNotSpoken)
	}
	return nil
}

// Raise is the protocol that the chain should speak from now on: the highest that all its
// members speak, once all are in view. ok is false if that is none but what it speaks.
func (v View) Raise(tip checkpoint.Manifest) (version checkpoint.Protocol, ok bool) {
	for _, m := range v.Roster(tip) {
		switch {
		case m.Duty == Absent:
			return 0, false
		case version == 0 || m.Speaks.Max < version:
			version = m.Speaks.Max
		}
	}
	return version, version > tip.Speaks()
}
