package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"taximeter/schemas"
)

// A day with every kind of payment, with lake and analytical table on: what agrees is
// counted, what does not is listed, and the exit code says so.
func TestReconcileTellsWhatDoesNotAgree(t *testing.T) {
	x := newTown(t)
	tables := t.TempDir()
	x.cfg.Lake.Catalog, x.cfg.Lake.Warehouse.Folder = "sqlite:"+filepath.Join(tables, "catalog.db"), filepath.Join(tables, "lake")
	x.cfg.Analytics.URL = "sqlite:" + filepath.Join(tables, "analytics.db")
	x.start()
	x.round()
	x.round()
	x.checkpoint()
	bills := x.results().FinalBills()
	pay := func(trip, id, kind string, amount schemas.Cents, more string) {
		t.Helper()
		at := x.origin.Add(15 * schemas.Minute)
		x.send(fmt.Sprintf(`{"topic":"pagamentos.eventos","appendedAt":%d,"value":{"eventId":%q,"tripId":%q,"ocorridoEm":%d,"tipo":%q,"valor":%q,"moeda":"BRL"%s}}`+"\n", at+500, id, trip, at, kind, amount, more))
		x.sent++
	}
	due := func(trip schemas.TripID) schemas.Cents {
		if bills[trip].Amount == 0 {
			t.Fatalf("trip %s has no bill: %v", trip, bills)
		}
		return bills[trip].Amount
	}
	pay("t-0-0", "a", "CAPTURA", due("t-0-0"), "")
	pay("t-0-0", "a", "CAPTURA", due("t-0-0"), "") // came twice
	pay("t-0-1", "b", "AUTORIZACAO", due("t-0-1"), `,"meio":"DINHEIRO"`)
	pay("t-0-2", "c", "CAPTURA", due("t-0-2")+500, "")
	pay("t-0-2", "d", "ESTORNO", 500, "")
	at := x.origin.Add(15 * schemas.Minute)
	x.send(fmt.Sprintf(`{"topic":"pagamentos.eventos","appendedAt":%d,"value":{"eventId":"e","tripId":"t-0-2","ocorridoEm":%d,"tipo":"CAPTURA","valor":"1.00","moeda":"BRL"}}`+"\n", at-180_000, at))
	x.sent++ // a dead letter: its clock was ahead
	config := filepath.Join(t.TempDir(), "taximeter.yaml")
	text := fmt.Sprintf("kafka: {brokers: [%q]}\nregistry: {url: %q}\nstore: {folder: %q}\nlake: {catalog: %q, warehouse: {folder: %q}}\nanalytics: {url: %q}\n",
		x.world.Brokers()[0], x.world.RegistryURL(), x.cfg.Store.Folder, x.cfg.Lake.Catalog, x.cfg.Lake.Warehouse.Folder, x.cfg.Analytics.URL)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	reconcile := func(args ...string) string {
		return taximeter(t, append([]string{"reconcile", "--config", config, "--from", x.origin.Time().Format(time.RFC3339)}, args...)...)
	}
	caughtUp := func() {
		x.checkpoint()
		x.await("the tables", func() bool {
			got := reconcile("--json")
			var r struct {
				Lago, Analitico struct{ Atrasadas, Checkpoint, Comparadas int64 }
			}
			if err := json.NewDecoder(strings.NewReader(got)).Decode(&r); err != nil {
				t.Fatal(got, err)
			}
			return r.Lago.Comparadas == 2 && r.Analitico.Comparadas >= 4
		})
	}
	caughtUp()
	got := reconcile()
	for _, want := range []string{"ok                         3\n", "0 skipped", "lake: complete up to checkpoint", "2 partitions compared\n", "\ndifferences=0\nexit 0\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}

	pay("t-0-3", "f", "CAPTURA", due("t-0-3")-1, "")
	pay("ghost", "g", "CAPTURA", 1000, "")
	caughtUp()
	got = reconcile("--max", "1")
	for _, want := range []string{"divergente", "paga_sem_fatura", "differences=2 divergente=1 paga_sem_fatura=1\n", "taximeter: 2 differences; docs/reconcile.md", "exit 1\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if got := reconcile("--to", x.origin.Add(schemas.Minute).Time().Format(time.RFC3339)); !strings.Contains(got, "(no trips)") || !strings.Contains(got, "differences=0\n") {
		t.Errorf("before any trip had ended:\n%s", got)
	}
}

func TestReconcileFlags(t *testing.T) {
	for want, args := range map[string][]string{
		"which trips?":              {},
		"write a day as 2026-11-29": {"--day", "today"},
		"is not after":              {"--from", "1h", "--to", "2h"},
		"give --day D, or":          {"--day", "2026-11-28", "--from", "1h"},
	} {
		if got := taximeter(t, append([]string{"reconcile"}, args...)...); !strings.Contains(got, want) || !strings.HasSuffix(got, "exit 2\n") {
			t.Errorf("want %q in %s", want, got)
		}
	}
	from, until, err := stretch("2026-11-28", "", "", time.Now())
	if err != nil || until-from != schemas.Day || from.Time().Format(time.RFC3339) != "2026-11-28T00:00:00Z" {
		t.Errorf("%s %s %v", from, until, err)
	}
}
