package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"taximeter/schemas"
)

const secret = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="

func config(channels ...Channel) Config {
	c := Default()
	c.Channels = channels
	return c
}

func TestAnAlertReachesTheChannelsOfItsRegion(t *testing.T) {
	w := newWorld(t)
	recife, rest := newEndpoint(t, httptest.NewServer, nil), newEndpoint(t, httptest.NewServer, nil)
	w.send("recife", "parada", 3) // before the group's first start
	d, _ := w.start(config(Channel{Name: "recife", URL: recife.URL, Regions: []string{"recife"}, Kinds: []string{"parada", "sem_sinal"}, Secret: secret},
		Channel{Name: "rest", URL: rest.URL, Format: "slack"}))
	w.begun()
	appended := time.Now()
	w.send("recife", "sem_sinal", 2)
	w.send("recife", "velocidade", 1)
	w.send("natal", "velocidade", 1)
	w.await("delivered", func() bool { return len(recife.took()) == 2 && len(rest.took()) == 1 })
	if took := time.Since(appended); took > 10*time.Second {
		t.Errorf("delivered after %s", took)
	}
	w.caughtUp()
	if got := recife.took(); !slices.Equal(got, ids("recife", 4, 5)) {
		t.Errorf("recife got %v", got)
	}

	r := recife.requests()[0]
	got := decodeJSON(t, r.body)
	if got["alertId"] != "recife-4" || got["tipo"] != "sem_sinal" || got["inicioEm"] != 1764000000000.0 ||
		got["resumo"] != "sem_sinal em recife/moto: corrida trip-1 desde 2025-11-24T16:00:00Z, silencioS=60.000 (regra r versao 1, alerta recife-4)" {
		t.Errorf("%s", r.body)
	}
	mac := hmac.New(sha256.New, []byte("01234567890123456789012345678901"))
	mac.Write(fmt.Appendf(nil, "recife-4.%s.%s", r.header.Get("webhook-timestamp"), r.body))
	if want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)); r.header.Get("webhook-signature") != want || r.header.Get("webhook-id") != "recife-4" {
		t.Errorf("%v, want signature %s", r.header, want)
	}
	if slack := decodeJSON(t, rest.requests()[0].body); len(slack) != 1 || !strings.HasPrefix(slack["text"].(string), "velocidade em natal/moto: ") {
		t.Errorf("%v", slack)
	}
	if n := metric(t, d, "taximeter_alert_deliveries_total", "recife", resultDelivered); n != 2 {
		t.Errorf("%v delivered", n)
	}
	if n := metric(t, d, "taximeter_alert_deliveries_total", noChannel, resultNoChannel); n != 1 {
		t.Errorf("%v without a channel: the kind that recife did not ask for is one", n)
	}
}

// One channel hangs, another refuses, a third is down: the fourth has its alerts at once
// and in order, and what the others did not take is written down.
func TestABadChannelHoldsUpNoOther(t *testing.T) {
	w := newWorld(t)
	good := newEndpoint(t, httptest.NewServer, nil)
	hanging := newEndpoint(t, httptest.NewServer, func(_ int, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	refusing := newEndpoint(t, httptest.NewServer, func(_ int, w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no such room", http.StatusNotFound)
	})
	c := config(Channel{Name: "hanging", URL: hanging.URL}, Channel{Name: "refusing", URL: refusing.URL}, Channel{Name: "down", URL: "http://127.0.0.1:1/token-123"},
		Channel{Name: "good", URL: good.URL})
	c.Timeout, c.Budget = time.Second, 3*time.Second
	d, _ := w.start(c)
	w.begun()
	appended := time.Now()
	w.send("recife", "parada", 5)
	w.await("the good channel", func() bool { return len(good.took()) == 5 })
	if took := time.Since(appended); took > c.Budget {
		t.Errorf("delivered after %s: it waited for the others", took)
	}
	if got := good.took(); !slices.Equal(got, ids("recife", 1, 5)) {
		t.Errorf("good got %v", got)
	}
	reasons := map[string]int{}
	for _, l := range w.undelivered(15) {
		reasons[l[schemas.HeaderChannel]+" "+l[schemas.HeaderReason]]++
		if l["key"] != "recife" || !strings.HasPrefix(l[schemas.HeaderSource], "corridas.alertas/") || l["value"][0] != 0 || l[schemas.HeaderDetail] == "" {
			t.Errorf("%q", l)
		}
		if strings.Contains(fmt.Sprint(l), "token-123") {
			t.Errorf("the address is told: %q", l)
		}
	}
	want := map[string]int{"hanging prazo_esgotado": 5, "refusing recusado": 5, "down prazo_esgotado": 5}
	if fmt.Sprint(reasons) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", reasons, want)
	}
	w.caughtUp()
	if n := metric(t, d, "taximeter_alerts_waiting", "hanging"); n != 0 {
		t.Errorf("%v still wait", n)
	}
	if n := metric(t, d, "taximeter_alert_attempts_failed_total", "down"); n < 2 {
		t.Errorf("%v attempts failed", n)
	}
}

func TestAFailingChannelIsTriedAgainInOrder(t *testing.T) {
	w := newWorld(t)
	flaky := newEndpoint(t, httptest.NewServer, func(n int, w http.ResponseWriter, _ *http.Request) {
		switch n {
		case 1, 2:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 4:
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
		}
	})
	w.start(config(Channel{Name: "flaky", URL: flaky.URL, Regions: []string{"*"}}))
	w.begun()
	w.send("recife", "parada", 4)
	w.await("delivered", func() bool { return len(flaky.took()) == 4 })
	if got := flaky.took(); !slices.Equal(got, ids("recife", 1, 4)) || len(flaky.requests()) != 7 {
		t.Errorf("%v in %d requests", got, len(flaky.requests()))
	}
	w.caughtUp()
}

// A channel that is down for long does not stop the topic: what is more than can wait is
// given up, and the other channel gets all of it.
func TestWhatABrokenChannelCannotTakeStopsNobody(t *testing.T) {
	w := newWorld(t)
	good := newEndpoint(t, httptest.NewServer, nil)
	w.start(config(Channel{Name: "down", URL: "http://127.0.0.1:1"}, Channel{Name: "good", URL: good.URL}))
	w.begun()
	const n = 2*maxHeld + maxPoll
	w.send("recife", "parada", n)
	w.await("the good channel", func() bool { return len(good.took()) == n })
	if got := good.took(); !slices.Equal(got, ids("recife", 1, n)) {
		t.Error("out of order")
	}
	if got := len(w.undelivered(n - maxHeld)); got > n {
		t.Errorf("%d written down", got)
	}
}

// Deliverers share the partitions. One that stops hands over what it has done; another goes
// on, and nothing is sent twice.
func TestDeliverersShareAndHandOver(t *testing.T) {
	w := newWorld(t)
	e := newEndpoint(t, httptest.NewServer, nil)
	c := config(Channel{Name: "all", URL: e.URL, Regions: []string{"*"}})
	first, stopFirst := w.start(c)
	second, stopSecond := w.start(c)
	w.begun()
	owns := func(d *Deliverer) int {
		d.mu.Lock()
		defer d.mu.Unlock()
		return len(d.partitions)
	}
	w.await("both own some", func() bool { return owns(first) == 2 && owns(second) == 2 })
	regions := strings.Fields("recife natal belem manaus sao-luis macapa palmas goiania")
	wave := func() {
		for _, r := range regions {
			w.send(r, "parada", 5)
		}
	}
	wave()
	stopFirst()
	wave()
	w.await("all delivered", func() bool { return len(e.took()) >= 2*5*len(regions) })
	stopSecond()
	wave() // while nobody runs
	w.start(c)
	w.await("all delivered", func() bool { return len(e.took()) >= 3*5*len(regions) })
	w.caughtUp()
	got := e.took()
	if len(got) != 3*5*len(regions) {
		t.Errorf("%d deliveries of %d alerts", len(got), 3*5*len(regions))
	}
	for _, region := range regions {
		last := 0
		for _, id := range got {
			if rest, ok := strings.CutPrefix(id, region+"-"); ok {
				var n int
				if _, err := fmt.Sscan(rest, &n); err != nil || n <= last {
					t.Errorf("%s after number %d, %v", id, last, err)
				}
				last = n
			}
		}
	}
}

func TestWhatIsNoAlertIsWrittenDown(t *testing.T) {
	w := newWorld(t)
	e := newEndpoint(t, httptest.NewServer, nil)
	w.start(config(Channel{Name: "all", URL: e.URL}))
	w.begun()
	w.put([]byte("recife"), []byte("hello"), "ns")
	w.put([]byte("recife"), []byte{0, 0, 0, 3, 231, 1}, "ns") // schema 999
	w.put([]byte("recife"), []byte{0, 0, 0, 0, byte(w.schema), 200}, "ns")
	w.put([]byte("recife"), []byte("hello"), "another") // is told by its own deliverers
	w.send("recife", "parada", 1)
	for _, l := range w.undelivered(3) {
		if _, for1 := l[schemas.HeaderChannel]; for1 || l[schemas.HeaderReason] != reasonUnreadable {
			t.Errorf("%q", l)
		}
	}
	w.await("the alert behind", func() bool { return len(e.took()) == 1 })
	w.caughtUp()
}

func TestTheEndpointsCertificateCounts(t *testing.T) {
	w := newWorld(t)
	e := newEndpoint(t, httptest.NewTLSServer, nil)
	e.Config.ErrorLog = nil
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: e.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	c := config(Channel{Name: "trusted", URL: e.URL, CA: ca}, Channel{Name: "unknown", URL: e.URL})
	c.Timeout, c.Budget = time.Second, time.Second
	w.start(c)
	w.begun()
	w.send("recife", "parada", 1)
	w.await("delivered", func() bool { return len(e.took()) == 1 })
	if l := w.undelivered(1)[0]; l[schemas.HeaderChannel] != "unknown" || !strings.Contains(l[schemas.HeaderDetail], "certificate") {
		t.Errorf("%q", l)
	}
	if _, err := New(config(Channel{Name: "c", URL: e.URL, CA: "missing.pem"}), Options{}); err == nil || !strings.Contains(err.Error(), "missing.pem") {
		t.Errorf("%v", err)
	}
}
