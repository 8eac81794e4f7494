//go:build integration

package main

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/cluster/node/embedded"
	"taximeter/internal/access"
	"taximeter/internal/access/accesstest"
	"taximeter/internal/kafkaserver"
	"taximeter/internal/serverstest"
	"taximeter/schemas"
)

// securedKafka is Kafka itself, which takes only those who come over TLS with a certificate
// and say by SASL that they are "meter". It gives how to be let in by SCRAM.
func securedKafka(t *testing.T) access.Kafka {
	t.Helper()
	at, err := kafkaserver.Addresses(3)
	if err != nil {
		t.Fatal(err)
	}
	server, ours := accesstest.NewIdentity(t, "kafka.test"), accesstest.NewIdentity(t, "meter")
	k := serverstest.Kafka(t)
	const login, name = "org.apache.kafka.common.security.", "listener.name.secured."
	err = k.Prepare([]kafkaserver.Listener{{Name: "INTERNAL", Address: at[0]}, {Name: "SECURED", Address: at[1], Protocol: "SASL_SSL"}}, at[2], []string{
		name + "ssl.keystore.type=PEM", name + "ssl.keystore.location=" + server.Both,
		name + "ssl.truststore.type=PEM", name + "ssl.truststore.location=" + ours.Cert, name + "ssl.client.auth=required",
		name + "sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
		name + "plain.sasl.jaas.config=" + login + `plain.PlainLoginModule required user_meter="secret";`,
		name + "scram-sha-256.sasl.jaas.config=" + login + "scram.ScramLoginModule required;",
		name + "scram-sha-512.sasl.jaas.config=" + login + "scram.ScramLoginModule required;",
		name + "oauthbearer.sasl.jaas.config=" + login + `oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";`,
	}, "--add-scram", "SCRAM-SHA-256=[name=meter,password=secret]", "--add-scram", "SCRAM-SHA-512=[name=meter,password=secret]")
	if err != nil {
		t.Fatal(err)
	}
	serverstest.Start(t, k)
	secured := access.Kafka{Brokers: []string{at[1]},
		TLS:  access.KafkaTLS{Enabled: true, CA: server.Cert, Cert: ours.Cert, Key: ours.Key, ServerName: "kafka.test"},
		SASL: access.SASL{Mechanism: "SCRAM-SHA-512", User: "meter", PasswordFile: secretFile(t, "secret")}}
	client, err := secured.Client()
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for err = client.Ping(ctx); err != nil; err = client.Ping(ctx) {
		if ctx.Err() != nil {
			t.Fatal(err)
		}
	}
	o := embedded.DefaultOptions()
	o.Tasks = 2
	if err := embedded.CreateTopics(ctx, kadm.NewClient(client), o); err != nil {
		t.Fatal(err)
	}
	return secured
}

func secretFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// securedRegistry answers over TLS those who know the password.
func securedRegistry(t *testing.T, kafka access.Kafka) access.Registry {
	t.Helper()
	r := running(t, kafka.Options())
	server := accesstest.NewIdentity(t, "registry.test")
	h := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if user, password, _ := req.BasicAuth(); user != "meter" || password != "secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		r.ServeHTTP(w, req)
	}))
	h.TLS = &tls.Config{Certificates: []tls.Certificate{server.Pair}}
	h.StartTLS()
	t.Cleanup(h.Close)
	return access.Registry{URL: h.URL, User: "meter", PasswordFile: secretFile(t, "secret"), TLS: access.TLS{CA: server.Cert, ServerName: "registry.test"}}
}

// unsecuredToken is what Kafka takes for a token where no issuer is configured.
func unsecuredToken(subject string) string {
	part := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	now := time.Now().Unix()
	return part(`{"alg":"none"}`) + "." + part(fmt.Sprintf(`{"sub":%q,"iat":%d,"exp":%d}`, subject, now, now+600)) + "."
}

// Everything that a user runs, on Kafka and a registry that want to know who it is.
func TestSecuredKafkaAndRegistry(t *testing.T) {
	kafka := securedKafka(t)
	schemaRegistry := securedRegistry(t, kafka)
	t.Run("mechanisms", func(t *testing.T) {
		for _, s := range []access.SASL{
			{Mechanism: "PLAIN", User: "meter", Password: "secret"},
			{Mechanism: "SCRAM-SHA-256", User: "meter", Password: "secret"},
			{Mechanism: "OAUTHBEARER", TokenFile: secretFile(t, unsecuredToken("meter"))},
		} {
			k := kafka
			k.SASL = s
			client, err := k.Client(kgo.RequestRetries(0))
			if err != nil {
				t.Fatal(err)
			}
			if err := client.Ping(t.Context()); err != nil {
				t.Errorf("%s: %v", s.Mechanism, err)
			}
			client.Close()
		}
	})
	t.Run("refusals", func(t *testing.T) {
		for want, change := range map[string]func(*access.Kafka){
			"set kafka.sasl.mechanism":              func(k *access.Kafka) { k.SASL = access.SASL{} },
			"set kafka.tls.enabled":                 func(k *access.Kafka) { k.TLS = access.KafkaTLS{} },
			`does not take kafka.sasl.user "guest"`: func(k *access.Kafka) { k.SASL.User = "guest" },
			"kafka.tls.ca":                          func(k *access.Kafka) { k.TLS.CA = "" },
			"kafka.tls.cert and kafka.tls.key":      func(k *access.Kafka) { k.TLS.Cert, k.TLS.Key = "", "" },
		} {
			k := kafka
			change(&k)
			if err := k.Check(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
		}
	})

	dir := t.TempDir()
	config, events, tariffs := filepath.Join(dir, "taximeter.yaml"), filepath.Join(dir, "events.jsonl"), filepath.Join(dir, "tariffs.json")
	for file, text := range map[string]string{
		config: fmt.Sprintf(`nodeId: secured
data: %s
store: {folder: %s}
admin: {listen: "127.0.0.1:0"}
checkpoint: {interval: 100ms}
kafka:
  brokers: [%q]
  tls: {enabled: true, ca: %s, cert: %s, key: %s, serverName: %s}
  sasl: {mechanism: %s, user: meter, passwordFile: %s}
registry: {url: %q, user: meter, passwordFile: %s, tls: {ca: %s, serverName: %s}}
`, filepath.Join(dir, "state"), filepath.Join(dir, "checkpoints"), kafka.Brokers[0], kafka.TLS.CA, kafka.TLS.Cert, kafka.TLS.Key, kafka.TLS.ServerName,
			kafka.SASL.Mechanism, kafka.SASL.PasswordFile, schemaRegistry.URL, schemaRegistry.PasswordFile, schemaRegistry.TLS.CA, schemaRegistry.TLS.ServerName),
		events:  produceLines,
		tariffs: `[{"tarifaId":"t","regiao":"*","categoria":"*","vigenteDesde":"2020-01-01T00:00:00Z","moeda":"BRL","bandeirada":"5.00","precoKm":"2.00","precoMin":"0.50","minimo":"7.00","taxaCancelamento":"3.00","carenciaS":120}]`,
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{
		{"catalogue", "publish", "--tariffs", tariffs},
		{"catalogue", "show"},
		{"produce", events},
		{"node", "--replay", "--append-times", "records"},
		{"consume", schemas.TopicWindows, "--max", "1"},
		{"dlq", "list"},
		{"reconcile", "--day", "2025-11-24"},
	} {
		got := taximeter(t, append(args, "--config", config)...)
		t.Log(args, got)
		ended := strings.HasSuffix(got, "exit 0\n")
		if args[0] == "reconcile" { // it may find differences, and then lists them
			ended = ended || strings.HasSuffix(got, "exit 1\n") && strings.Contains(got, "\ndifferences=")
		}
		if !ended || strings.Contains(got, "answers at") {
			t.Errorf("%v: %s", args, got)
		}
	}
}
