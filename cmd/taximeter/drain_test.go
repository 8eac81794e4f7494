package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/actors/ingest"
	"taximeter/checkpoint"
	"taximeter/cluster/node"
	"taximeter/schemas"
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

// runs runs a node as its command does, and gives what it says and how it ends.
func runs(ctx context.Context, x *town, o node.Options) (said *outcome) {
	said = &outcome{over: make(chan struct{})}
	o.AppendTimes, o.Log = ingest.AppendTimesFromRecords, slog.New(slog.NewTextHandler(&x.log, nil))
	go func() {
		defer close(said.over)
		_, said.err = runNode(ctx, x.cfg, o, &said.text)
	}()
	return said
}

type outcome struct {
	text bytes.Buffer
	over chan struct{} // closed when text and err may be read
	err  error
}

// guarded gives the town's node an address and a token, and drain asks it.
func (x *town) guarded() (drain func() string) {
	x.cfg.Admin.Listen, x.cfg.Admin.Token = free(x.T), "secret"
	x.Setenv("TAXIMETER_ADMIN_TOKEN", "secret")
	return func() string {
		return taximeter(x.T, "node", "drain", "--admin", "http://"+x.cfg.Admin.Listen, "--wait", "15s")
	}
}

func (x *town) answers() bool {
	c, err := net.Dial("tcp", x.cfg.Admin.Listen)
	if err == nil {
		_ = c.Close()
	}
	return err == nil
}

// A replay is ended by who asks for it, and says that it is not done.
func TestAReplayIsDrained(t *testing.T) {
	x := newTown(t)
	registry, err := url.Parse(x.world.RegistryURL())
	if err != nil {
		t.Fatal(err)
	}
	behind := httputil.NewSingleHostReverseProxy(registry)
	flaky := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/schemas/ids/999") {
			w.WriteHeader(http.StatusServiceUnavailable) // the partition waits for it
			return
		}
		behind.ServeHTTP(w, r)
	}))
	defer flaky.Close()
	x.cfg.Registry.URL = flaky.URL
	drain := x.guarded()
	x.round()
	client, err := kgo.NewClient(kgo.SeedBrokers(x.world.Brokers()...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	unknown := &kgo.Record{Topic: schemas.TopicTelemetry, Key: []byte("t"), Value: []byte{0, 0, 0, 999 >> 8, 999 & 255, 1}}
	if err := client.ProduceSync(x.ctx, unknown).FirstErr(); err != nil {
		t.Fatal(err)
	}
	replay := runs(x.ctx, x, node.Options{Mode: node.Replay})
	x.await("up", x.answers)
	if got := drain(); !strings.HasSuffix(got, "the node has ended\nexit 0\n") {
		t.Fatal(got)
	}
	<-replay.over
	if replay.err == nil || !strings.Contains(replay.err.Error(), "before the replay was done") {
		t.Errorf("%v\n%s", replay.err, &replay.text)
	}
}

// held is a store that gives no state of a partition.
type held struct{ checkpoint.Store }

func (s held) Get(ctx context.Context, key string) (checkpoint.Object, error) {
	if strings.Contains(key, "/part/") {
		<-ctx.Done()
		return checkpoint.Object{}, ctx.Err()
	}
	return s.Store.Get(ctx, key)
}

func holding(s checkpoint.Store) checkpoint.Store { return held{s} }

// A node whose start hangs can be ended as any other, and leaves nothing that others would have
// to wait for.
func TestANodeThatStillStartsLeaves(t *testing.T) {
	for name, clustered := range map[string]bool{"alone": false, "of a cluster": true} {
		for by, stop := range map[string]func(drain func() string, cancel func()){
			"drain":   func(drain func() string, _ func()) { drain() },
			"SIGTERM": func(_ func() string, cancel func()) { cancel() },
		} {
			t.Run(name+" by "+by, func(t *testing.T) {
				x := newTown(t)
				if clustered {
					x.cfg.Cluster.Listen, x.cfg.Cluster.Remote, x.cfg.Cluster.Bootstrap = "127.0.0.1:0", "127.0.0.1:0", true
				}
				drain := x.guarded()
				x.start()
				x.round()
				x.checkpoint()
				x.stop()
				x.cfg.Data = t.TempDir() // all of the state must be fetched
				ctx, cancel := context.WithCancel(x.ctx)
				defer cancel()
				starts := runs(ctx, x, node.Options{Store: holding})
				x.await("up", x.answers)
				chain := checkpoint.NewChain(must(x.cfg.Store.Open()), "taximeter")
				x.await("given its runs", func() bool { return len(must(chain.Tip(x.ctx)).Owned("n1")) == 2 })
				began := time.Now()
				stop(drain, cancel)
				<-starts.over
				if starts.err != nil || time.Since(began) > 10*time.Second {
					t.Errorf("after %s: %v\n%s", time.Since(began), starts.err, &starts.text)
				}
				if tip := must(chain.Tip(x.ctx)); clustered && (len(tip.Members) > 0 || len(tip.Owned("n1")) > 0) {
					t.Errorf("members %v, partitions %v are its own still", tip.Members, tip.Owned("n1"))
				}
			})
		}
	}
}

// A supervisor starts what has ended again, at the same address, before anybody sees it gone.
func TestDrainSeesThatANodeWasStartedAgain(t *testing.T) {
	var asked atomic.Bool
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		life := 1
		if asked.Load() {
			life = 2
		}
		if r.Method == http.MethodPost {
			asked.Store(true)
		}
		if _, err := fmt.Fprintf(w, `{"no":"n1","vida":%d,"membros":[{"no":"n1","estado":"serving","particoes":2}]}`, life); err != nil {
			t.Error(err)
		}
	}))
	defer api.Close()
	if got := taximeter(t, "node", "drain", "--admin", api.URL, "--wait", "10s"); got != "the node has ended, and was started again\nexit 0\n" {
		t.Error(got)
	}
}

// A machine that is gone with its node refuses no connection: what became of it is not known.
func TestDrainDoesNotSayThatASilentNodeGoesOn(t *testing.T) {
	asked := make(chan struct{})
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-asked: // nothing answers any more
			<-r.Context().Done()
			return
		default:
		}
		if r.Method == http.MethodPost {
			close(asked)
		}
		if _, err := w.Write([]byte(`{"no":"n1"}`)); err != nil {
			t.Error(err)
		}
	}))
	defer api.Close()
	if got := taximeter(t, "node", "drain", "--admin", api.URL, "--wait", "1s"); !strings.Contains(got, "does not answer") || strings.Contains(got, "it goes on") || !strings.HasSuffix(got, "exit 1\n") {
		t.Error(got)
	}
}
