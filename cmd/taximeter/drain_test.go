package main

import (
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// free is an address that nobody listens at.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestNodeDrain(t *testing.T) {
	for name, token := range map[string]string{"with a token": "secret", "whoever reaches it": ""} {
		t.Run(name, func(t *testing.T) {
			surroundings(t, nil)
			address := free(t)
			t.Setenv("TAXIMETER_ADMIN_LISTEN", address)
			t.Setenv("TAXIMETER_ADMIN_TOKEN", token)
			up, ended := make(chan struct{}), make(chan int, 1)
			var out, errs bytes.Buffer
			said := &watcher{word: "is up after", then: func() {
				select {
				case <-up:
				default:
					close(up)
				}
			}}
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			go func() { ended <- run(ctx, []string{"node", "--append-times", "records"}, said, &errs) }()
			<-up
			code := run(t.Context(), []string{"node", "drain", "--admin", "http://" + address}, &out, &out)
			if token == "" {
				if code != exitError || !strings.Contains(out.String(), "set admin.token") {
					t.Errorf("exit %d: %s", code, &out)
				}
				stop()
			} else if code != exitOK || !strings.HasSuffix(out.String(), "the node has ended\n") {
				t.Errorf("exit %d: %s", code, &out)
			}
			if code := <-ended; code != exitOK || token != "" && !strings.Contains(said.all.String(), "asked to drain") {
				t.Errorf("the node ended with %d: %s%s", code, &said.all, &errs)
			}
		})
	}
}

func TestDrainIsNeverOpen(t *testing.T) {
	surroundings(t, nil)
	path := filepath.Join(t.TempDir(), "taximeter.yaml")
	if err := os.WriteFile(path, []byte("admin:\n  token: secret\n  open: [/drain]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, said := runNodeCommand(t, "--config", path); code != exitUsage || !strings.Contains(said, "/drain ends the node") {
		t.Errorf("exit %d: %s", code, said)
	}
}
