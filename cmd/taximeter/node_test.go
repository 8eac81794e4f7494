package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/cluster/node/embedded"
	"taximeter/cmd/internal/world"
	"taximeter/internal/access/accesstest"
	"taximeter/schemas"
)

// surroundings are a broker and a registry for `taximeter node`, configured by environment.
func surroundings(t *testing.T, broker world.Broker) (dir string) {
	t.Helper()
	w, err := world.Start(t.Context(), world.Options{Partitions: 2, Log: slog.New(slog.DiscardHandler), Broker: broker})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	dir = t.TempDir()
	for name, value := range map[string]string{
		"NODE_ID": "node-1", "DATA": filepath.Join(dir, "state"), "STORE_FOLDER": filepath.Join(dir, "checkpoints"),
		"KAFKA_BROKERS": strings.Join(w.Brokers(), ","), "REGISTRY_URL": w.RegistryURL(), "ADMIN_LISTEN": "127.0.0.1:0", "CHECKPOINT_INTERVAL": "100ms",
	} {
		t.Setenv("TAXIMETER_"+name, value)
	}
	return dir
}

// seeded is a broker whose topics somebody made by hand.
type seeded struct{ *kfake.Cluster }

func (s seeded) Seeds() []string { return s.ListenAddrs() }
func (s seeded) Close() error    { s.Cluster.Close(); return nil }

func runNodeCommand(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out, errs bytes.Buffer
	code = run(ctx, append([]string{"node"}, args...), &out, &errs)
	return code, out.String(), errs.String()
}

// refused checks that a run ended with one clear sentence that names what is wrong.
func refused(t *testing.T, words ...string) {
	t.Helper()
	code, _, said := runNodeCommand(t, "--replay", "--append-times", "records")
	if code == exitOK || strings.Contains(said, "goroutine ") || !strings.HasPrefix(said, "taximeter: ") || strings.Count(said, "\n") != 1 {
		t.Errorf("exit %d:\n%s", code, said)
	}
	for _, w := range words {
		if !strings.Contains(said, w) {
			t.Errorf("not told %q:\n%s", w, said)
		}
	}
}

func TestNodeReplaysAndEnds(t *testing.T) {
	surroundings(t, nil)
	for range 2 { // the second goes on from the first's checkpoint
		code, out, said := runNodeCommand(t, "--replay", "--append-times", "records", "--json")
		var partitions []struct {
			State string `json:"estado"`
		}
		if err := json.Unmarshal([]byte(out), &partitions); code != exitOK || err != nil || len(partitions) != 2 {
			t.Fatalf("exit %d, %v, %s\n%s", code, err, out, said)
		}
	}
}

func TestNodeRunsUntilAskedToStop(t *testing.T) {
	surroundings(t, nil)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	up := &watcher{word: "is up after", then: stop}
	var errs bytes.Buffer
	if code := run(ctx, []string{"node", "--append-times", "records"}, up, &errs); code != exitOK {
		t.Errorf("exit %d:\n%s%s", code, &up.all, &errs)
	}
}

// watcher does something when a word was written.
type watcher struct {
	all  bytes.Buffer
	word string
	then func()
}

func (w *watcher) Write(b []byte) (int, error) {
	n, err := w.all.Write(b)
	if strings.Contains(w.all.String(), w.word) {
		w.then()
	}
	return n, err
}

func TestNodeRefusesWhatItCannotWorkWith(t *testing.T) {
	t.Run("a port in use", func(t *testing.T) {
		surroundings(t, nil)
		taken, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer taken.Close()
		t.Setenv("TAXIMETER_ADMIN_LISTEN", taken.Addr().String())
		refused(t, taken.Addr().String(), "admin.listen")
	})
	t.Run("a data folder that is a file", func(t *testing.T) {
		dir := surroundings(t, nil)
		if err := os.WriteFile(filepath.Join(dir, "state"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		refused(t, "data folder cannot be written")
	})
	t.Run("a checkpoint folder that is a file", func(t *testing.T) {
		dir := surroundings(t, nil)
		if err := os.WriteFile(filepath.Join(dir, "checkpoints"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		refused(t, "checkpoint store cannot be written")
	})
	t.Run("unequal partition counts", func(t *testing.T) {
		surroundings(t, unequal(t))
		refused(t, schemas.TopicRides, "has 3 partitions", "one partition count")
	})
	t.Run("a checkpoint of a newer format", func(t *testing.T) {
		dir := surroundings(t, nil)
		if code, _, said := runNodeCommand(t, "--replay", "--append-times", "records"); code != exitOK {
			t.Fatal(said)
		}
		before := rewriteTip(t, filepath.Join(dir, "checkpoints"))
		refused(t, "format 99", "upgrade this node")
		if after := manifests(t, filepath.Join(dir, "checkpoints")); !slices.Equal(before, after) {
			t.Errorf("the chain was %v and is %v", before, after)
		}
	})
	t.Run("live after a replay has ended time", func(t *testing.T) {
		surroundings(t, nil)
		if code, _, said := runNodeCommand(t, "--replay", "--append-times", "records"); code != exitOK {
			t.Fatal(said)
		}
		if code, _, said := runNodeCommand(t, "--append-times", "records"); code != exitError || !strings.Contains(said, "has ended event time") {
			t.Errorf("exit %d: %s", code, said)
		}
	})
	t.Run("an unknown key in the configuration", func(t *testing.T) {
		surroundings(t, nil)
		path := filepath.Join(t.TempDir(), "taximeter.yaml")
		if err := os.WriteFile(path, []byte("kafka:\n  broker: [a:1]\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, _, said := runNodeCommand(t, "--config", path); code != exitUsage || !strings.Contains(said, "broker") {
			t.Errorf("exit %d: %s", code, said)
		}
	})
}

// unequal is a broker on which one input topic has another partition count.
func unequal(t *testing.T) world.Broker {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(3, schemas.TopicRides))
	if err != nil {
		t.Fatal(err)
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := embedded.CreateTopics(t.Context(), kadm.NewClient(client), embedded.Options{Tasks: 2}); err == nil {
		t.Fatal("topics of unequal counts were taken")
	}
	for _, topic := range []string{schemas.TopicTelemetry, schemas.TopicPayments, schemas.TopicAlerts, schemas.TopicWindows, schemas.TopicDLQ} {
		if _, err := kadm.NewClient(client).CreateTopic(t.Context(), 2, 1, nil, topic); err != nil && !strings.Contains(err.Error(), "ALREADY_EXISTS") {
			t.Fatal(err)
		}
	}
	for _, topic := range []string{schemas.TopicRules, schemas.TopicTariffs, schemas.TopicSchemas} {
		if _, err := kadm.NewClient(client).CreateTopic(t.Context(), 1, 1, map[string]*string{"cleanup.policy": kadm.StringPtr("compact")}, topic); err != nil {
			t.Fatal(err)
		}
	}
	return seeded{cluster}
}

func manifests(t *testing.T, store string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(store, "taximeter", "manifest", "*"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%v, %v", names, err)
	}
	return names
}

// rewriteTip makes the newest manifest one that a later program wrote.
func rewriteTip(t *testing.T, store string) (names []string) {
	t.Helper()
	names = manifests(t, store)
	path := names[len(names)-1]
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var envelope struct {
		Format int             `json:"format"`
		Kind   string          `json:"kind"`
		SHA256 string          `json:"sha256"`
		Body   json.RawMessage `json:"body"`
	}
	if err := json.Unmarshal(text, &envelope); err != nil {
		t.Fatal(err)
	}
	envelope.Format = 99
	sum := sha256.Sum256(append(fmt.Appendf(nil, "%d %s\n", envelope.Format, envelope.Kind), envelope.Body...))
	envelope.SHA256 = hex.EncodeToString(sum[:])
	if text, err = json.Marshal(envelope); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return names
}

// A node whose admin API speaks TLS and lets in who gives the token, and the commands that ask it.
func TestAdminAPIWithTokenOverTLS(t *testing.T) {
	dir := surroundings(t, nil)
	identity := accesstest.NewIdentity(t, "node.test", net.IPv4(127, 0, 0, 1))
	token := filepath.Join(dir, "token")
	if err := os.WriteFile(token, []byte("next\nlast\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TAXIMETER_ADMIN_TOKEN_FILE", token)
	t.Setenv("TAXIMETER_ADMIN_TLS_CERT", identity.Cert)
	t.Setenv("TAXIMETER_ADMIN_TLS_KEY", identity.Key)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	said, out := io.Pipe()
	ended := make(chan int, 1)
	var errs bytes.Buffer
	go func() {
		ended <- run(ctx, []string{"node", "--append-times", "records"}, out, &errs)
		_ = out.Close()
	}()
	lines := bufio.NewScanner(said)
	if !lines.Scan() {
		t.Fatal("the node did not come up: exit ", <-ended, errs.String())
	}
	go func() { _, _ = io.Copy(io.Discard, said) }()
	_, url, ok := strings.Cut(lines.Text(), "admin https://")
	if !ok {
		t.Fatal(lines.Text())
	}
	url = "https://" + url
	status := func(args ...string) string {
		return taximeter(t, append([]string{"cluster", "status", "--admin", url, "--ca", identity.Cert}, args...)...)
	}
	if got := status(); !strings.Contains(got, "node-1 is alone") {
		t.Error("by the variable:", got)
	}
	t.Setenv("TAXIMETER_ADMIN_TOKEN_FILE", "")
	if got := status(); !strings.Contains(got, "give --token-file FILE") {
		t.Error("without a token:", got)
	}
	if got := status("--token-file", token); !strings.Contains(got, "node-1 is alone") {
		t.Error("by the flag:", got)
	}
	if got := taximeter(t, "cluster", "status", "--admin", url, "--token-file", token); !strings.Contains(got, "give --ca") {
		t.Error("without --ca:", got)
	}
	if got := status("--token-file", token, "--server-name", "elsewhere.test"); !strings.Contains(got, "give --server-name") {
		t.Error("another name:", got)
	}
	if got := status("--token-file", token, "--server-name", "node.test"); !strings.Contains(got, "node-1 is alone") {
		t.Error("by the certificate's name:", got)
	}
	stop()
	if code := <-ended; code != exitOK {
		t.Error("exit", code)
	}
}
