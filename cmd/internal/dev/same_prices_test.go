package dev

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/cmd/internal/published"
	"taximeter/cmd/internal/values"
	"taximeter/cmd/internal/world"
	"taximeter/schemas"
	"taximeter/schemas/codec"
)

// quiet are options of a small run that nobody watches, on free ports.
func quiet(t *testing.T) Options {
	o := DefaultOptions()
	o.Data, o.Log, o.Say = t.TempDir(), slog.New(slog.DiscardHandler), io.Discard
	o.KafkaPort, o.RegistryPort, o.AdminPort, o.Partitions, o.Rate, o.Checkpoint, o.Tables = 0, 0, 0, 4, 8, time.Second, false
	return o
}

// saidOften ends a run when a text was said so often.
type saidOften struct {
	mu    sync.Mutex
	text  []byte
	often int
	heard bytes.Buffer
	then  func()
}

func (s *saidOften) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.heard.Write(b)
	if bytes.Count(s.heard.Bytes(), s.text) >= s.often {
		s.then()
	}
	return n, err
}

// What the city's passengers pay is what the node bills: also across a restart, which
// publishes no prices again.
func TestACityPaysWhatIsBilled(t *testing.T) {
	o := quiet(t)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	o.Say = &saidOften{text: []byte("bill    "), often: 3, then: stop}
	if _, err := Run(ctx, o); err != nil {
		t.Fatal(err)
	}
	w := open(t, o)
	bills, captured := moved(t, w)
	if len(bills) < 50 {
		t.Fatalf("%d bills", len(bills))
	}
	same, other := 0, 0
	for id, sum := range captured {
		if b, ok := bills[id]; ok && b.Version == 1 {
			if b.Amount == sum {
				same++
			} else {
				other++
			}
		}
	}
	if same < 30 || other > same/20 {
		t.Errorf("of the trips with a capture, %d paid their bill and %d something else", same, other)
	}

	again := &run{o: o, world: w, began: time.Now()}
	before := tariffsEnd(t, w)
	if err := again.catalogue(t.Context()); err != nil {
		t.Fatal(err)
	}
	for id, b := range bills {
		if !slices.ContainsFunc(again.city().Tariffs, func(t schemas.Tariff) bool { return t.TariffID == b.TariffID && t.ValidFrom <= b.Start }) {
			t.Errorf("bill %s by tariff %s, which the city does not know any more", id, b.TariffID)
		}
	}
	if after := tariffsEnd(t, w); after != before || before == 0 {
		t.Errorf("the tariff topic ended at %d and ends at %d after a restart", before, after)
	}
}

// Prices that are given are the city's too; where they are none it says so before it starts.
func TestACityPaysByTheTariffsGiven(t *testing.T) {
	o := quiet(t)
	o.Tariffs = []schemas.Tariff{{TariffID: "mine", Region: schemas.Any, Category: schemas.Any, Currency: "EUR", PerKm: 1_000_000}}
	w := open(t, o)
	r := &run{o: o, world: w, began: time.Now(), fresh: true}
	if err := r.catalogue(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := r.city().Tariffs; len(got) != 1 || got[0] != o.Tariffs[0] {
		t.Errorf("the city pays by %+v", got)
	}
	o = quiet(t)
	o.Tariffs = []schemas.Tariff{{TariffID: "porto", Region: "porto", Category: schemas.Any, Currency: "EUR"}}
	w = open(t, o)
	r = &run{o: o, world: w, began: time.Now(), fresh: true}
	if err := r.catalogue(t.Context()); err == nil || tariffsEnd(t, w) != 0 {
		t.Errorf("%v; the topic ends at %d", err, tariffsEnd(t, w))
	}
}

func open(t *testing.T, o Options) *world.World {
	t.Helper()
	w, err := world.Start(t.Context(), world.Options{Dir: o.Data, Partitions: o.Partitions, Log: o.Log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// moved is the newest bill of each trip, and of those with exactly one payment captured and
// none refunded, what that was.
func moved(t *testing.T, w *world.World) (map[schemas.TripID]schemas.Bill, map[schemas.TripID]schemas.Cents) {
	t.Helper()
	results, err := published.Read(t.Context(), w.Kafka(), w.Registry())
	if err != nil {
		t.Fatal(err)
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(w.Brokers()...), kgo.ConsumeTopics(schemas.TopicPayments), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	captured, spoilt := make(map[schemas.TripID]schemas.Cents), make(map[schemas.TripID]bool)
	type event struct {
		trip schemas.TripID
		id   schemas.EventID
	}
	seen := make(map[event]bool)
	reader := codec.NewPaymentReader()
	for bills := 0; bills < len(results.Bills); {
		fetches := client.PollFetches(t.Context())
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		for records := fetches.RecordIter(); !records.Done(); {
			p, err := values.Decode(t.Context(), w.Registry(), reader, records.Next().Value)
			if err != nil {
				continue // the city sends nonsense too
			}
			switch {
			case p.Kind == "FATURA":
				bills++
			case seen[event{p.TripID, p.EventID}]:
			case p.Kind == "CAPTURA" && captured[p.TripID] == 0:
				captured[p.TripID] = p.Amount
			case p.Kind != "AUTORIZACAO":
				spoilt[p.TripID] = true
			}
			seen[event{p.TripID, p.EventID}] = true
		}
	}
	for id := range spoilt {
		delete(captured, id)
	}
	return results.FinalBills(), captured
}

func tariffsEnd(t *testing.T, w *world.World) int64 {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(w.Brokers()...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ends, err := kadm.NewClient(client).ListEndOffsets(t.Context(), schemas.TopicTariffs)
	if err != nil {
		t.Fatal(err)
	}
	end, _ := ends.Lookup(schemas.TopicTariffs, 0)
	return end.Offset
}
