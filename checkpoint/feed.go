package checkpoint

import (
	"fmt"
	"slices"
	"strings"
)

// Fed is a sink of tables that the namespace feeds. It lies in the chain, not in the
// configuration, so that no node prunes or leaves out what another node's sink needs.
type Fed struct {
	Name string `json:"name"`
	// What outboxes must tell for it beside bills, windows and dead letters.
	Verdicts bool `json:"verdicts,omitempty"`
	Trips    bool `json:"trips,omitempty"`
}

// Feed is a node's word that outboxes wait for a sink from the next manifest on.
type Feed struct{ Fed }

func (c Feed) apply(m *Manifest, _ Manifest, _ Limits) error {
	if c.Name == "" {
		return fmt.Errorf("a sink needs a name")
	}
	if m.Speaks() < Protocol2 {
		return fmt.Errorf("the namespace speaks protocol %d, whose outboxes do not tell what the sink %s needs: upgrade all nodes, and configure it once they speak protocol %d", m.Speaks(), c.Name, Protocol2)
	}
	m.Sinks = slices.DeleteFunc(slices.Clone(m.Sinks), func(f Fed) bool { return f.Name == c.Name })
	m.Sinks = append(m.Sinks, c.Fed)
	slices.SortFunc(m.Sinks, func(a, b Fed) int { return strings.Compare(a.Name, b.Name) })
	m.Cause = CauseSinks
	return nil
}

// Forget is an operator's word that outboxes wait for a sink no more. What it does not
// hold yet, it will never get.
type Forget struct{ Name string }

func (c Forget) apply(m *Manifest, _ Manifest, _ Limits) error {
	rest := slices.DeleteFunc(slices.Clone(m.Sinks), func(f Fed) bool { return f.Name == c.Name })
	if len(rest) == len(m.Sinks) {
		return fmt.Errorf("sink %q is not fed; those that are: %v", c.Name, m.Sinks)
	}
	m.Sinks, m.Cause = rest, CauseSinks
	return nil
}

func (f Fed) String() string { return f.Name }
