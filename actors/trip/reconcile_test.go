package trip

import (
	"testing"

	"taximeter/schemas"
)

func TestSettlement(t *testing.T) {
	const end = schemas.Millis(1_764_000_000_000)
	bill := func(amount schemas.Cents, motive schemas.Motive) *schemas.Bill {
		return &schemas.Bill{TripID: "t", Version: 1, Amount: amount, End: end, Motive: motive}
	}
	pay := func(id schemas.EventID, kind schemas.Kind, amount schemas.Cents, means string, rectifies schemas.EventID) schemas.Event {
		return schemas.Event{Topic: schemas.Payments, TripID: "t", EventID: id, Kind: kind, At: end, Rectifies: rectifies,
			Payment: schemas.PaymentDetail{Amount: amount, Currency: "BRL", Means: means}}
	}
	for name, c := range map[string]struct {
		bill      *schemas.Bill
		payments  []schemas.Event
		watermark schemas.Millis
		word      string
		captured  schemas.Cents
	}{
		"paid":                 {bill(1000, ""), []schemas.Event{pay("a", schemas.PayAuthorization, 1000, "CARTAO", ""), pay("b", schemas.PayCapture, 1000, "", "")}, end, "ok", 1000},
		"in cash":              {bill(1000, ""), []schemas.Event{pay("a", schemas.PayAuthorization, 1000, "DINHEIRO", "")}, end, "ok", 1000},
		"the first of one id":  {bill(1000, ""), []schemas.Event{pay("a", schemas.PayCapture, 1000, "", ""), pay("a", schemas.PayCapture, 900, "", "")}, end, "ok", 1000},
		"refunded in part":     {bill(900, ""), []schemas.Event{pay("a", schemas.PayCapture, 1000, "", ""), pay("b", schemas.PayRefund, 100, "", "")}, end, "ok", 900},
		"replaced":             {bill(900, ""), []schemas.Event{pay("a", schemas.PayCapture, 1000, "", ""), pay("b", schemas.PayCapture, 900, "", "a")}, end, "ok", 900},
		"annulled":             {bill(900, ""), []schemas.Event{pay("a", schemas.PayCapture, 900, "", ""), pay("b", schemas.Void, 0, "", "a")}, end, "pendente", 0},
		"too much":             {bill(900, ""), []schemas.Event{pay("a", schemas.PayCapture, 1000, "", "")}, end, "divergente", 1000},
		"not yet":              {bill(900, ""), nil, end.Add(schemas.Day - 1), "pendente", 0},
		"not for a day":        {bill(900, ""), nil, end.Add(schemas.Day), "nao_paga", 0},
		"without a bill":       {nil, []schemas.Event{pay("a", schemas.PayCapture, 1000, "", "")}, end, "paga_sem_fatura", 1000},
		"with a bill annulled": {bill(0, schemas.MotiveVoided), []schemas.Event{pay("a", schemas.PayCapture, 1000, "", "")}, end, "paga_sem_fatura", 1000},
		"nothing":              {nil, nil, end, "pendente", 0},
	} {
		if word, captured := Settlement("t", c.bill, c.payments, c.watermark); word != c.word || captured != c.captured {
			t.Errorf("%s: %s with %s captured, want %s with %s", name, word, captured, c.word, c.captured)
		}
	}
}
