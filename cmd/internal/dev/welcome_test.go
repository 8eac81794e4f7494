package dev

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"
)

// Every command that is shown works as it stands: its flags lead to this run.
func TestShownCommandsNameThisRun(t *testing.T) {
	o := quiet(t)
	o.Program = "bin/taximeter"
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	said := &saidOften{text: []byte("see it: "), often: 1, then: stop}
	o.Say = said
	if _, err := Run(ctx, o); err != nil {
		t.Fatal(err)
	}
	text := said.heard.String()
	where := regexp.MustCompile(`broker (127\S+), registry (http\S+), admin (http\S+)\n`).FindStringSubmatch(text)
	if where == nil {
		t.Fatal(text)
	}
	for _, command := range []string{
		"bin/taximeter trip show ID --admin " + where[3],
		"bin/taximeter consume pagamentos.eventos --brokers " + where[1] + " --registry " + where[2],
		"bin/taximeter catalogue show --brokers " + where[1] + " --registry " + where[2],
		"curl " + where[3] + "/partitions",
	} {
		if !strings.Contains(text, "  "+command+" ") {
			t.Errorf("no %q in\n%s", command, text)
		}
	}
	if !regexp.MustCompile(`see it: bin/taximeter trip explain \S+-\S+ --admin ` + regexp.QuoteMeta(where[3]) + "\n").MatchString(text) {
		t.Errorf("no trip to explain in\n%s", text)
	}
}

func TestDefaultAddressesNeedNoFlags(t *testing.T) {
	if got := flag("--admin", "http://127.0.0.1:8080", "http://127.0.0.1:8080"); got != "" {
		t.Error(got)
	}
}
