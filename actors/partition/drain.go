package partition

import "taximeter/schemas"

// Drain hands over what was decided since the last Drain, for consumers that keep no
// checkpoints and therefore never Seal. It stays valid until the next call of any other
// method.
func (p *Partition) Drain() (schemas.Outbox, []schemas.Alert) {
	out := schemas.Outbox{Bills: p.effects.Bills, Windows: p.effects.Windows, DeadLetters: p.letters}
	alerts := p.alerts.unsent
	p.effects.Bills, p.effects.Windows = p.effects.Bills[:0], p.effects.Windows[:0]
	p.letters, p.alerts.unsent = p.letters[:0], p.alerts.unsent[:0]
	return out, alerts
}
