package city

import "taximeter/schemas"

// planCharge plans how a passenger pays an amount, or does not.
func (c *City) planCharge(t *ride, when schemas.Millis, amount schemas.Cents) {
	if c.chance(cash) {
		t.means, t.paid = "DINHEIRO", amount
		t.pays(c, schemas.PayAuthorization, when, amount, "")
		return
	}
	if t.means = "PIX"; c.chance(0.6) {
		t.means, t.card = "CARTAO", c.pseudonym("c-", 800_000)
	}
	t.pays(c, schemas.PayAuthorization, when, amount, "")
	captured := when + c.between(10*schemas.Second, 90*schemas.Second)
	odd := c.rng.Float64()
	under := func(share float64) bool { odd -= share; return odd < 0 }
	switch {
	case under(unpaid):
		return
	case under(chargedTwice):
		again := t.pays(c, schemas.PayAuthorization, when+c.between(500, 4500), amount, "")
		t.pays(c, schemas.Void, when+c.between(20*schemas.Second, 60*schemas.Second), amount, again)
	case under(capturedTwice):
		t.pays(c, schemas.PayCapture, captured+c.between(schemas.Second, schemas.Minute), amount, "")
		t.pays(c, schemas.PayRefund, captured+c.between(2*schemas.Minute, 30*schemas.Minute), amount, "")
	case under(partlyRefunded):
		t.pays(c, schemas.PayRefund, captured+c.between(10*schemas.Minute, schemas.Hour), amount/5, "")
	}
	t.pays(c, schemas.PayCapture, captured, amount, "")
	t.paid = amount
}

// planSettlement plans the payment that makes what was paid the right amount.
func (c *City) planSettlement(t *ride, when schemas.Millis, right schemas.Cents) {
	switch {
	case t.paid > right:
		t.pays(c, schemas.PayRefund, when+30*schemas.Second, t.paid-right, "")
	case t.paid > 0 && t.paid < right:
		t.pays(c, schemas.PayCapture, when+30*schemas.Second, right-t.paid, "")
	}
}

// pays plans one payment event and gives its id.
func (t *ride) pays(c *City, kind schemas.Kind, when schemas.Millis, amount schemas.Cents, rectifies schemas.EventID) schemas.EventID {
	id := t.newID(c)
	t.plan(step{when: when, at: when, do: pay, kind: kind, id: id, rectifies: rectifies, amount: amount})
	return id
}

func (c *City) tellPayment(t *ride, s *step) {
	r := schemas.PaymentRecord{EventID: s.id, TripID: t.id, At: s.at, Kind: s.kind.String(), Amount: s.amount, Currency: t.currency, Means: &t.means}
	if s.rectifies != "" {
		r.Rectifies = &s.rectifies
	}
	if t.card != "" {
		r.CardID = &t.card
	}
	c.send(t, s.when, parcel{topic: schemas.Payments, payment: &r})
}
