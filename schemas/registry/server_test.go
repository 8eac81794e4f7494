package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sr"

	"taximeter/schemas"
)

func broker(t *testing.T) []kgo.Opt {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return []kgo.Opt{kgo.SeedBrokers(c.ListenAddrs()...)}
}

// start runs a server until the test ends or stop is called.
func start(t *testing.T, kafka []kgo.Opt) (url string, stop func()) {
	t.Helper()
	s := NewServer(ServerConfig{Kafka: kafka, Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	h := httptest.NewServer(s)
	stop = sync.OnceFunc(func() {
		h.Close()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	t.Cleanup(stop)
	select {
	case <-s.Ready():
	case err := <-done:
		done <- err
		t.Fatalf("run: %v", err)
	case <-time.After(20 * time.Second):
		t.Fatal("not ready")
	}
	return h.URL, stop
}

// call is one plain HTTP request; the answer is "STATUS BODY".
func call(t *testing.T, method, url, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if got := resp.Header.Get("Content-Type"); got != contentType {
		t.Errorf("%s %s: content type %q", method, url, got)
	}
	return fmt.Sprintf("%d %s", resp.StatusCode, text)
}

func posting(schema string) string {
	body, err := json.Marshal(map[string]string{"schema": schema})
	if err != nil {
		panic(err)
	}
	return string(body)
}

func TestTheProtocolOverPlainHTTP(t *testing.T) {
	url, _ := start(t, broker(t))
	for _, step := range []struct{ method, path, body, want string }{
		{"GET", "/", "", `200 {}`},
		{"GET", "/schemas/types", "", `200 ["AVRO"]`},
		{"GET", "/subjects", "", `200 []`},
		{"GET", "/subjects/a%2Fb-value/versions", "", `404 {"error_code":40401,"message":"Subject 'a/b-value' not found."}`},
		{"GET", "/subjects/s/versions/latest", "", `404 {"error_code":40401,"message":"Subject 's' not found."}`},
		{"POST", "/subjects/s", posting(`"int"`), `404 {"error_code":40401,"message":"Subject 's' not found."}`},
		{"GET", "/schemas/ids/1", "", `404 {"error_code":40403,"message":"Schema 1 not found"}`},
		{"GET", "/schemas/ids/one", "", `404 {"error_code":404,"message":"HTTP 404 Not Found: the embedded registry does not serve GET /schemas/ids/one"}`},

		{"POST", "/subjects/a%2Fb-value/versions", posting(`"int"`), `200 {"subject":"a/b-value","version":1,"id":1,"schema":"\"int\""}`},
		{"POST", "/subjects/s/versions", posting(`"long"`), `200 {"subject":"s","version":1,"id":2,"schema":"\"long\""}`},
		{"POST", "/subjects/s/versions", posting(` "int" `), `200 {"subject":"s","version":2,"id":1,"schema":"\"int\""}`},
		{"POST", "/subjects/s/versions", posting(` "long"`), `200 {"subject":"s","version":1,"id":2,"schema":"\"long\""}`},
		{"POST", "/subjects/s/versions?normalize=true", posting(`"long"`), `200 {"subject":"s","version":1,"id":2,"schema":"\"long\""}`},
		{"GET", "/subjects", "", `200 ["a/b-value","s"]`},
		{"GET", "/subjects/s/versions", "", `200 [1,2]`},
		{"GET", "/subjects/s/versions/1", "", `200 {"subject":"s","version":1,"id":2,"schema":"\"long\""}`},
		{"GET", "/subjects/s/versions/latest", "", `200 {"subject":"s","version":2,"id":1,"schema":"\"int\""}`},
		{"GET", "/subjects/s/versions/-1/schema", "", `200 "int"`},
		{"GET", "/subjects/s/versions/3", "", `404 {"error_code":40402,"message":"Version 3 not found."}`},
		{"GET", "/subjects/s/versions/0", "", `422 {"error_code":42202,"message":"The specified version '0' is not a valid version id. Allowed values are between [1, 2^31-1] and the string \"latest\""}`},
		{"GET", "/schemas/ids/1", "", `200 {"schema":"\"int\""}`},
		{"GET", "/schemas/ids/1/schema", "", `200 "int"`},
		{"GET", "/schemas/ids/1/subjects", "", `200 ["a/b-value","s"]`},
		{"GET", "/schemas/ids/1/versions", "", `200 [{"subject":"a/b-value","version":1},{"subject":"s","version":2}]`},
		{"POST", "/subjects/s", posting(`"long"`), `200 {"subject":"s","version":1,"id":2,"schema":"\"long\""}`},
		{"POST", "/subjects/s", posting(`"bytes"`), `404 {"error_code":40403,"message":"Schema not found"}`},

		{"POST", "/subjects/s/versions", posting(`{"type":"record"}`), `422 {"error_code":42201,...`},
		{"POST", "/subjects/s/versions", `{}`, `422 {"error_code":42201,"message":"Empty schema"}`},
		{"POST", "/subjects/s/versions", `{"schema":"x","schemaType":"JSON"}`, `422 {"error_code":42201,"message":"Invalid schema type JSON: the embedded registry holds only AVRO"}`},
		{"POST", "/subjects/s/versions", `{"schema":"\"int\"","references":[{"name":"a","subject":"b","version":1}]}`, `422 {"error_code":42201,"message":"Invalid schema: the embedded registry does not follow references...`},
		{"POST", "/subjects/s/versions", `{"schema":"\"int\"","ruleSet":{"domainRules":[]}}`, `422 {"error_code":42201,"message":"Invalid schema: the embedded registry does not apply metadata or rule sets...`},
		{"POST", "/subjects/s/versions", `{"schema":"\"int\"","id":9}`, `422 {"error_code":42205,...`},
		{"POST", "/subjects/s/versions", `[`, `400 {"error_code":400,...`},
		{"POST", "/subjects/s/versions", posting(`"` + strings.Repeat("x", maxBody) + `"`), `422 {"error_code":42209,...`},
		{"DELETE", "/subjects/s", "", `422 {"error_code":42205,...`},
		{"DELETE", "/subjects/s/versions/1", "", `422 {"error_code":42205,...`},
		{"POST", "/compatibility/subjects/s/versions/latest", posting(`"int"`), `404 {"error_code":404,...`},

		{"GET", "/config", "", `200 {"compatibilityLevel":"NONE"}`},
		{"GET", "/config/s", "", `404 {"error_code":40408,"message":"Subject 's' does not have subject-level compatibility configured"}`},
		{"GET", "/config/s?defaultToGlobal=true", "", `200 {"compatibilityLevel":"NONE"}`},
		{"PUT", "/config/s", `{"compatibility":"NONE"}`, `200 {"compatibility":"NONE"}`},
		{"GET", "/config/s", "", `200 {"compatibilityLevel":"NONE"}`},
		{"PUT", "/config", `{"compatibility":"BACKWARD"}`, `422 {"error_code":42203,"message":"The embedded registry does not enforce BACKWARD, so it will not promise it; the only level it knows is NONE"}`},
		{"PUT", "/config", `{"compatibility":"SIDEWAYS"}`, `422 {"error_code":42203,"message":"Invalid compatibility level \"SIDEWAYS\"...`},
		{"GET", "/mode", "", `200 {"mode":"READWRITE"}`},
		{"GET", "/mode/s", "", `404 {"error_code":40409,"message":"Subject 's' does not have subject-level mode configured"}`},
		{"PUT", "/mode", `{"mode":"READONLY"}`, `422 {"error_code":42204,...`},
		{"PUT", "/mode", `{"mode":"READWRITE"}`, `200 {"mode":"READWRITE"}`},
	} {
		got := call(t, step.method, url+step.path, step.body)
		if prefix, cut := strings.CutSuffix(step.want, "..."); got != step.want && !(cut && strings.HasPrefix(got, prefix)) {
			t.Errorf("%s %s\n got %s\nwant %s", step.method, step.path, got, step.want)
		}
	}
}

func TestWithTheFranzGoClient(t *testing.T) {
	url, _ := start(t, broker(t))
	c, err := sr.NewClient(sr.URLs(url))
	if err != nil {
		t.Fatal(err)
	}
	created, err := c.CreateSchema(t.Context(), "s", sr.Schema{Schema: point})
	if err != nil || created.ID != 1 || created.Version != 1 || created.Schema.Schema != point {
		t.Fatal(created, err)
	}
	found, err := c.LookupSchema(t.Context(), "s", sr.Schema{Schema: point})
	if err != nil || found.ID != 1 {
		t.Fatal(found, err)
	}
	if all, err := c.Schemas(t.Context(), "s"); err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	if level := c.Compatibility(t.Context())[0]; level.Err != nil || level.Level != sr.CompatNone {
		t.Fatal(level)
	}
}

func TestARestartKeepsEverything(t *testing.T) {
	kafka := broker(t)
	url, stop := start(t, kafka)
	call(t, "POST", url+"/subjects/s/versions", posting(`"int"`))
	call(t, "POST", url+"/subjects/s/versions", posting(point))
	call(t, "PUT", url+"/config/s", `{"compatibility":"NONE"}`)
	before := call(t, "GET", url+"/subjects/s/versions/latest", "")
	stop()

	url, _ = start(t, kafka)
	if after := call(t, "GET", url+"/subjects/s/versions/latest", ""); after != before || !strings.HasPrefix(after, "200") {
		t.Errorf("%s, before %s", after, before)
	}
	if got := call(t, "GET", url+"/config/s", ""); !strings.HasPrefix(got, "200") {
		t.Error(got)
	}
	if got := call(t, "POST", url+"/subjects/s/versions", posting(`"long"`)); !strings.HasPrefix(got, `200 {"subject":"s","version":3,"id":3,`) {
		t.Error(got)
	}
}

// Two servers on one log, each asked for the same 50 schemas and for 25 of its own at the
// same time: every content has one id, no id two contents, and both say the same.
func TestTwoServersAgree(t *testing.T) {
	kafka := broker(t)
	var urls [2]string
	for i := range urls {
		urls[i], _ = start(t, kafka)
	}
	schema := func(n int) string {
		return fmt.Sprintf(`{"type":"record","name":"R%d","fields":[]}`, n)
	}
	var wg sync.WaitGroup
	for i, url := range urls {
		wg.Go(func() {
			for n := range 75 {
				if n >= 50 {
					n += 100 * (i + 1)
				}
				got := call(t, "POST", fmt.Sprintf("%s/subjects/s%d/versions", url, n%5), posting(schema(n)))
				if !strings.HasPrefix(got, "200") {
					t.Errorf("server %d schema %d: %s", i, n, got)
				}
			}
		})
	}
	wg.Wait()

	clients := make([]*Client, 2)
	for i := range clients {
		clients[i] = client(t, urls[i])
	}
	seen := make(map[string]int)
	for id := 1; id <= 100; id++ {
		a, err := clients[0].SchemaByID(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		b, err := clients[1].SchemaByID(t.Context(), id)
		if err != nil || a != b {
			t.Errorf("id %d is %s here and %s there, %v", id, a, b, err)
		}
		if first, twice := seen[a]; twice {
			t.Errorf("%s has ids %d and %d", a, first, id)
		}
		seen[a] = id
	}
	for n := range 5 {
		path := fmt.Sprintf("/subjects/s%d/versions", n)
		a, b := call(t, "GET", urls[0]+path, ""), call(t, "GET", urls[1]+path, "")
		if a != b || a != "200 [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20]" {
			t.Errorf("%s: %s here, %s there", path, a, b)
		}
	}
}

// What one server has answered, the other knows at once: a consumer may meet the id before
// the second server's next fetch, and a wrong "not found" would be a lost record.
func TestNotFoundIsTrueOfTheLog(t *testing.T) {
	kafka := broker(t)
	writes, _ := start(t, kafka)
	reads, _ := start(t, kafka)
	for id := 1; id <= 20; id++ {
		got := call(t, "POST", writes+"/subjects/s/versions", posting(fmt.Sprintf(`{"type":"fixed","name":"F","size":%d}`, id)))
		if !strings.Contains(got, fmt.Sprintf(`"id":%d,`, id)) {
			t.Fatal(got)
		}
		if got := call(t, "GET", fmt.Sprintf("%s/schemas/ids/%d", reads, id), ""); !strings.HasPrefix(got, "200") {
			t.Fatal(got)
		}
	}
}

func TestATopicThatWouldLoseSchemasIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		partitions int32
		policy     string
		want       string
	}{
		"two partitions": {2, "compact", "has 2 partitions; the registry's log must have 1"},
		"deleting":       {1, "delete", `cleanup.policy is "delete", under which schemas would be lost; set it to "compact"`},
	} {
		t.Run(name, func(t *testing.T) {
			kafka := broker(t)
			admin, err := kadm.NewOptClient(kafka...)
			if err != nil {
				t.Fatal(err)
			}
			defer admin.Close()
			if _, err := admin.CreateTopic(t.Context(), c.partitions, 1, map[string]*string{"cleanup.policy": &c.policy}, schemas.TopicSchemas); err != nil {
				t.Fatal(err)
			}
			err = NewServer(ServerConfig{Kafka: kafka}).Run(t.Context())
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Error(err)
			}
		})
	}
}

func TestRequestsBeforeTheLogIsReadTimeOut(t *testing.T) {
	s := NewServer(ServerConfig{Timeout: time.Millisecond})
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/schemas/ids/1", nil))
	if w.Code != 500 || !strings.Contains(w.Body.String(), `"error_code":50002`) {
		t.Error(w.Code, w.Body)
	}
}
