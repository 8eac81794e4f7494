package webhook

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestFaultsOfTheConfiguration(t *testing.T) {
	good := Channel{Name: "a", URL: "https://h/x", Format: "slack", Regions: []string{"*"}, Kinds: []string{"parada"}, Secret: secret}
	if faults := config(good).Faults("alerts"); len(faults) > 0 {
		t.Error(faults)
	}
	if faults := Default().Faults("alerts"); len(faults) > 0 {
		t.Error(faults)
	}
	bad := Config{Timeout: time.Minute, Budget: time.Second, Channels: []Channel{good, good,
		{Name: "Operação", URL: "hooks.example.com/secret-path", Format: "xml", Regions: []string{"recife", "*"}, Kinds: []string{"paradas"}, Secret: "whsec_short"}}}
	got := strings.Join(bad.Faults("alerts"), "\n")
	for _, want := range []string{"alerts.timeout: 1m0s: use 100ms to 30s", "alerts.budget: 1s: use at least", `alerts.channels[1].name: "a" is the name of channels[0] too`,
		`alerts.channels[2].name: "Operação": use lower-case`, "alerts.channels[2].url: not a URL", `alerts.channels[2].format: "xml": use json or slack`,
		`alerts.channels[2].regions: "*" is all`, `alerts.channels[2].kinds: there is no kind "paradas": use parada, desvio`, "alerts.channels[2].secret: use whsec_"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "secret-path") || strings.Contains(got, "whsec_short") {
		t.Errorf("a secret is told:\n%s", got)
	}
}

func TestRoutes(t *testing.T) {
	r := newRoutes([]Channel{{Name: "rest"}, {Name: "recife", Regions: []string{"recife", "olinda"}}, {Name: "all", Regions: []string{"*"}, Kinds: []string{"desvio"}},
		{Name: "stops", Regions: []string{"recife"}, Kinds: []string{"parada"}}})
	for _, c := range []struct{ region, kind, want string }{
		{"recife", "parada", "[1 3]"}, {"recife", "desvio", "[1 2]"}, {"olinda", "parada", "[1]"}, {"natal", "parada", "[0]"}, {"", "desvio", "[0 2]"},
	} {
		if got := fmt.Sprint(r.of(c.region, c.kind)); got != c.want {
			t.Errorf("%s of %q goes to %s, want %s", c.kind, c.region, got, c.want)
		}
	}
	if got := newRoutes(nil).of("recife", "parada"); got != nil {
		t.Errorf("%v", got)
	}
}
