package access

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/internal/access/accesstest"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// broker runs one in process; it ends with the test.
func broker(t *testing.T, opts ...kfake.Opt) []string {
	t.Helper()
	c, err := kfake.NewCluster(append(opts, kfake.NumBrokers(1))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c.ListenAddrs()
}

func TestEachWayToKafka(t *testing.T) {
	server := accesstest.NewIdentity(t, "kafka.test")
	over := KafkaTLS{Enabled: true, CA: server.Cert, ServerName: "kafka.test"}
	for _, mechanism := range []string{"", mechanismPlain, mechanismSHA256, mechanismSHA512} {
		for _, secured := range []KafkaTLS{{}, over} {
			var opts []kfake.Opt
			k := Kafka{TLS: secured}
			if mechanism != "" {
				opts = append(opts, kfake.EnableSASL(), kfake.Superuser(mechanism, "meter", "secret"))
				k.SASL = SASL{Mechanism: mechanism, User: "meter", PasswordFile: write(t, "password", "secret\n")}
			}
			if secured.Enabled {
				opts = append(opts, kfake.TLS(&tls.Config{Certificates: []tls.Certificate{server.Pair}}))
			}
			k.Brokers = broker(t, opts...)
			if faults := k.Faults(); len(faults) > 0 {
				t.Fatal(faults)
			}
			client, err := k.Client()
			if err != nil {
				t.Fatal(err)
			}
			if err := client.Ping(t.Context()); err != nil {
				t.Errorf("%q, TLS %v: %v", mechanism, secured.Enabled, err)
			}
			client.Close()
			if err := k.Check(t.Context()); err != nil {
				t.Errorf("%q, TLS %v: %v", mechanism, secured.Enabled, err)
			}
		}
	}
}

func TestRefusalsSayWhatToSet(t *testing.T) {
	server := accesstest.NewIdentity(t, "kafka.test")
	over := kfake.TLS(&tls.Config{Certificates: []tls.Certificate{server.Pair}})
	sasl := []kfake.Opt{kfake.EnableSASL(), kfake.Superuser(mechanismSHA512, "meter", "secret")}
	known := SASL{Mechanism: mechanismSHA512, User: "meter", Password: "secret"}
	trusting := KafkaTLS{Enabled: true, CA: server.Cert, ServerName: "kafka.test"}
	mutual := kfake.TLS(&tls.Config{Certificates: []tls.Certificate{server.Pair}, ClientAuth: tls.RequireAnyClientCert})
	for name, c := range map[string]struct {
		broker []kfake.Opt
		ours   Kafka
		want   string
	}{
		"no SASL":          {sasl, Kafka{}, "set kafka.tls.enabled, kafka.sasl"},
		"no SASL over TLS": {append(sasl, over), Kafka{TLS: trusting}, "set kafka.sasl.mechanism, user and password"},
		"no TLS":           {append(sasl, over), Kafka{SASL: known}, "asks for TLS at this port: set kafka.tls.enabled"},
		"neither":          {append(sasl, over), Kafka{}, "asks for TLS at this port: set kafka.tls.enabled"},
		"TLS to clear":     {sasl, Kafka{TLS: trusting, SASL: known}, "does not speak TLS at this port"},
		"unknown CA":       {[]kfake.Opt{over}, Kafka{TLS: KafkaTLS{Enabled: true, ServerName: "kafka.test"}}, "kafka.tls.ca"},
		"other name":       {[]kfake.Opt{over}, Kafka{TLS: KafkaTLS{Enabled: true, CA: server.Cert}}, "kafka.tls.serverName"},
		"no client cert":   {[]kfake.Opt{mutual}, Kafka{TLS: trusting}, "kafka.tls.cert and kafka.tls.key"},
		"wrong password":   {sasl, Kafka{SASL: SASL{Mechanism: mechanismSHA512, User: "meter", Password: "guess"}}, `kafka.sasl.user "meter"`},
		"other mechanism":  {sasl, Kafka{SASL: SASL{Mechanism: mechanismPlain, User: "meter", Password: "secret"}}, "kafka.sasl"},
		"SASL to nobody":   {nil, Kafka{SASL: known}, "kafka.sasl"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // some take all the patience of a check
			c.ours.Brokers = broker(t, c.broker...)
			err := c.ours.Check(t.Context())
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
	mutualTrust := trusting
	mutualTrust.Cert, mutualTrust.Key = server.Cert, server.Key
	if err := (Kafka{Brokers: broker(t, mutual), TLS: mutualTrust}).Check(t.Context()); err != nil {
		t.Error("with our certificate:", err)
	}
	if err := (Kafka{Brokers: []string{"127.0.0.1:1"}}).Check(t.Context()); err != nil {
		t.Error("brokers that are down are not its affair:", err)
	}
}

// A password that is written anew holds for the next connection of the same client.
func TestPasswordIsReadAgain(t *testing.T) {
	file := write(t, "password", "old")
	k := Kafka{Brokers: broker(t, kfake.EnableSASL(), kfake.Superuser(mechanismSHA256, "meter", "new")),
		SASL: SASL{Mechanism: mechanismSHA256, User: "meter", PasswordFile: file}}
	client, err := k.Client(kgo.RequestRetries(0))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.Ping(t.Context()); err == nil {
		t.Fatal("the old password was taken")
	}
	if err := os.WriteFile(file, []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := client.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestTokensOfAnIssuer(t *testing.T) {
	server := accesstest.NewIdentity(t, "issuer.test", net.IPv4(127, 0, 0, 1))
	asked, lasts := 0, 3600
	issuer := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "meter" || password != "secret" || r.FormValue("scope") != "kafka" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		asked++
		answer := map[string]any{"access_token": fmt.Sprint("number ", asked), "token_type": "Bearer"}
		if lasts > 0 {
			answer["expires_in"] = lasts
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer)
	}))
	issuer.TLS = &tls.Config{Certificates: []tls.Certificate{server.Pair}}
	issuer.StartTLS()
	defer issuer.Close()
	s := SASL{Mechanism: mechanismOAuth, User: "meter", Password: "secret", TokenURL: issuer.URL, TokenCA: server.Cert, Scopes: []string{"kafka"}}
	for _, c := range []struct {
		lasts int // seconds; 0 = the issuer does not say
		want  string
	}{{3600, "number 1"}, {5, "number 3"}, {0, "number 5"}} { // two connections each
		lasts = c.lasts
		tokens := s.tokens()
		_, err := tokens(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if a, err := tokens(t.Context()); err != nil || a.Token != c.want {
			t.Errorf("for %d s: %q, want %q: %v", c.lasts, a.Token, c.want, err)
		}
	}
	s.TokenCA = ""
	if _, err := s.tokens()(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "kafka.sasl.tokenURL: ") {
		t.Error("whoever signed the issuer's certificate:", err)
	}
	if a, err := (SASL{TokenFile: write(t, "token", "of-the-file\n")}).tokens()(t.Context()); err != nil || a.Token != "of-the-file" {
		t.Error(a.Token, err)
	}
}

// A proxy in front of a broker that is down takes connections and closes them.
func TestBrokerThatIsDownBehindAProxyIsWaitedFor(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
		}
	}()
	at := []string{l.Addr().String()}
	for name, k := range map[string]Kafka{
		"clear":         {Brokers: at},
		"TLS":           {Brokers: at, TLS: KafkaTLS{Enabled: true}},
		"SASL in clear": {Brokers: at, SASL: SASL{Mechanism: mechanismPlain, User: "u", Password: "p"}},
	} {
		t.Run(name, func(t *testing.T) {
			if err := k.Check(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestRegistryThatRedirectsGivesNoPasswordAway(t *testing.T) {
	stolen := ""
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, ok := r.BasicAuth(); ok {
			stolen = password
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"schema": `"string"`})
	}))
	defer other.Close()
	first := httptest.NewServer(http.RedirectHandler(strings.Replace(other.URL, "127.0.0.1", "localhost", 1)+"/schemas/ids/1", http.StatusFound))
	defer first.Close()
	client, err := Registry{URL: first.URL, User: "meter", Password: "secret"}.Client(0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = client.SchemaByID(t.Context(), 1); err != nil || stolen != "" {
		t.Errorf("another host was told %q: %v", stolen, err)
	}
}

// Behind a proxy, too, the registry is who the settings say.
func TestRegistryBehindAProxyIsTrustedAsSet(t *testing.T) {
	server := accesstest.NewIdentity(t, "registry.test")
	h := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {}))
	h.TLS = &tls.Config{Certificates: []tls.Certificate{server.Pair}}
	h.StartTLS()
	defer h.Close()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		ours, err := net.Dial("tcp", h.Listener.Addr().String())
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer ours.Close()
		w.WriteHeader(http.StatusOK)
		theirs, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer theirs.Close()
		go func() { _, _ = io.Copy(ours, buffered) }()
		_, _ = io.Copy(theirs, ours)
	}))
	defer proxy.Close()
	transport, err := TLS{CA: server.Cert, ServerName: "registry.test"}.Transport()
	if err != nil {
		t.Fatal(err)
	}
	defer transport.CloseIdleConnections()
	at, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	transport.Proxy = http.ProxyURL(at)
	answer, err := (&http.Client{Transport: transport}).Get("https://registry.elsewhere:443/")
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
}

func TestNoPasswordInMessages(t *testing.T) {
	for address, want := range map[string]string{
		"https://registry:8081":                       "https://registry:8081",
		"registry:8081":                               "registry:8081",
		"sqlite:/data/lake.db":                        "sqlite:/data/lake.db",
		"https://meter:s3cret@host/path":              "https://meter:xxxxx@host/path",
		"postgres://m:s3cret@host/db?password=s3cret": "postgres://m:xxxxx@host/db",
		"postgres://host/db?user=m&password=s3cret":   "postgres://host/db",
		"https://meter:s3cret@":                       "https://meter:xxxxx@",
		"https://meter:s3cret":                        hidden, // no port
		"https://meter:12#s3cret@host":                hidden,
		"meter:s3cret@host":                           hidden,
		"host=db user=m password=s3cret":              hidden,
		"https://meter:s3cret%@host":                  hidden,
	} {
		if got := Redacted(address); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
	for _, address := range []string{"https://meter:s3cret@", "https://meter:s3cret@host", "https://meter:s3cret"} {
		faults := append(Registry{URL: address}.Faults(), Kafka{Brokers: []string{"kafka:9092"},
			SASL: SASL{Mechanism: mechanismOAuth, User: "u", Password: "p", TokenURL: address}}.Faults()...)
		if len(faults) != 2 || strings.Contains(strings.Join(faults, ""), "s3cret") {
			t.Errorf("%s: %q", address, faults)
		}
	}
}

func TestRegistryOverTLSWithPassword(t *testing.T) {
	server := accesstest.NewIdentity(t, "registry.test")
	h := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "meter" || password != "secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"schema": `"string"`})
	}))
	h.TLS = &tls.Config{Certificates: []tls.Certificate{server.Pair}}
	h.StartTLS()
	defer h.Close()
	ask := func(r Registry) error {
		client, err := r.Client(0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = client.SchemaByID(t.Context(), 1); err != nil {
			return fmt.Errorf("%w; %s", err, r.Mend(err))
		}
		return nil
	}
	good := Registry{URL: h.URL, User: "meter", PasswordFile: write(t, "password", "secret\n"), TLS: TLS{CA: server.Cert, ServerName: "registry.test"}}
	if faults := good.Faults(); len(faults) > 0 {
		t.Fatal(faults)
	}
	if err := ask(good); err != nil {
		t.Error(err)
	}
	stranger, distrusting := good, good
	stranger.User = "stranger"
	distrusting.TLS.CA = ""
	if err := ask(stranger); err == nil || !strings.Contains(err.Error(), "set registry.user") {
		t.Error(err)
	}
	if err := ask(distrusting); err == nil || !strings.Contains(err.Error(), "registry.tls.ca") {
		t.Error(err)
	}
}

func TestFaultsNameThePlace(t *testing.T) {
	at := []string{"kafka:9092"}
	for want, k := range map[string]Kafka{
		"kafka.brokers: ":              {},
		"kafka.brokers[0]: ":           {Brokers: []string{"kafka"}},
		"kafka.tls.enabled: ":          {Brokers: at, TLS: KafkaTLS{CA: "ca.pem"}},
		"kafka.tls: ca: ":              {Brokers: at, TLS: KafkaTLS{Enabled: true, CA: "/no/such/file"}},
		"kafka.tls: cert and key":      {Brokers: at, TLS: KafkaTLS{Enabled: true, Cert: "cert.pem"}},
		"kafka.sasl.mechanism: is":     {Brokers: at, SASL: SASL{User: "u"}},
		`kafka.sasl.mechanism: "GSSA`:  {Brokers: at, SASL: SASL{Mechanism: "GSSAPI", User: "u", Password: "p"}},
		"kafka.sasl: user and":         {Brokers: at, SASL: SASL{Mechanism: mechanismPlain}},
		"kafka.sasl: OAUTHBEARER":      {Brokers: at, SASL: SASL{Mechanism: mechanismOAuth}},
		"kafka.sasl.tokenFile: ":       {Brokers: at, SASL: SASL{Mechanism: mechanismOAuth, TokenFile: "/no/such/file"}},
		"kafka.sasl.passwordFile: giv": {Brokers: at, SASL: SASL{Mechanism: mechanismPlain, User: "u", Password: "p", PasswordFile: "f"}},
		"kafka.sasl.passwordFile: ope": {Brokers: at, SASL: SASL{Mechanism: mechanismPlain, User: "u", PasswordFile: "/no/such/file"}},
	} {
		if faults := k.Faults(); len(faults) != 1 || !strings.HasPrefix(faults[0], want) {
			t.Errorf("%q, want one that begins with %q", faults, want)
		}
	}
}
