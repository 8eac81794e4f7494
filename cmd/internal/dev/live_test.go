package dev

import (
	"context"
	"net"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/cmd/internal/feed"
	"taximeter/cmd/internal/published"
	"taximeter/internal/access"
	"taximeter/schemas"
	"taximeter/schemas/edge"
	"taximeter/schemas/registry"
)

const (
	// soon is what a first bill may take; slow machines watching for races are given more.
	soon = 40 * time.Second
	// alertBound is the contract's, from the append of a record to its alert.
	alertBound = 10 * time.Second
)

// A city drives live: bills come soon, an alert within its bound of the record that causes
// it, and after a restart all goes on, with nothing said twice and no version missing.
func TestALiveCityAcrossARestart(t *testing.T) {
	o := quiet(t)
	o.KafkaPort, o.RegistryPort = freePort(t), freePort(t)
	billed := 0
	for i, trip := range []string{"charged-twice", "charged-twice-too"} {
		life := begin(t, o)
		r := life.until(soon, func(r *published.Results) bool { return len(r.Bills) > billed })
		billed = len(r.Bills)
		appended := life.chargeTwice(trip)
		life.until(alertBound, func(r *published.Results) bool {
			return slices.ContainsFunc(r.Alerts, func(a schemas.Alert) bool { return string(a.TripID) == trip && a.Kind == "cobranca_duplicada" })
		})
		t.Logf("life %d: %d bills at first sight, the alert came within %s", i+1, billed, time.Since(appended))
		life.stop()
	}
	w := open(t, o)
	got, err := published.Read(t.Context(), w.Kafka(), w.Registry())
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, got) // finds what came twice, and versions that lack an earlier one
}

// life is one run of dev.
type life struct {
	t       *testing.T
	o       Options
	cancel  context.CancelFunc
	ended   chan error
	schemas *registry.Client
}

func begin(t *testing.T, o Options) *life {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	l := &life{t: t, o: o, cancel: cancel, ended: make(chan error, 1)}
	go func() {
		_, err := Run(ctx, o)
		l.ended <- err
	}()
	var err error
	if l.schemas, err = registry.NewClient(registry.ClientConfig{URLs: []string{"http://" + local(o.RegistryPort)}}); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *life) stop() {
	l.t.Helper()
	l.cancel()
	if err := <-l.ended; err != nil {
		l.t.Fatal(err)
	}
}

// until reads what is published again and again until it is as wanted.
func (l *life) until(patience time.Duration, wanted func(*published.Results) bool) *published.Results {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		r, err := published.Read(ctx, access.Kafka{Brokers: []string{local(l.o.KafkaPort)}}, l.schemas)
		if err == nil && wanted(r) {
			return r
		}
		select {
		case <-tick.C:
		case err := <-l.ended:
			l.t.Fatalf("dev ended: %v", err)
		case <-ctx.Done():
			l.t.Fatalf("not within %s; reading said %v", patience, err)
		}
	}
}

// chargeTwice sends two authorisations of one amount and tells when they were appended.
func (l *life) chargeTwice(trip string) time.Time {
	l.t.Helper()
	encoder, err := feed.Register(l.t.Context(), l.schemas)
	if err != nil {
		l.t.Fatal(err)
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(local(l.o.KafkaPort)), kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)))
	if err != nil {
		l.t.Fatal(err)
	}
	defer client.Close()
	at := now()
	for i := range 2 {
		record, err := encoder.Record(&edge.Line{Topic: schemas.Payments, AppendedAt: at, Payment: &schemas.PaymentRecord{
			EventID: schemas.EventID(trip + strconv.Itoa(i)), TripID: schemas.TripID(trip), At: at.Add(schemas.Millis(i)), Kind: schemas.PayAuthorization.String(),
			Amount: 2_345, Currency: "BRL"}})
		if err != nil {
			l.t.Fatal(err)
		}
		if err := client.ProduceSync(l.t.Context(), record).FirstErr(); err != nil {
			l.t.Fatal(err)
		}
	}
	return time.Now()
}

func local(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// freePort is one that nobody listened on just now.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", local(0))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
