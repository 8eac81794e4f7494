package access

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// Kafka says where the brokers are, and who we are to them.
type Kafka struct {
	Brokers []string `yaml:"brokers" env:"BROKERS"` // host:port of some of them
	TLS     KafkaTLS `yaml:"tls" envPrefix:"TLS_"`
	SASL    SASL     `yaml:"sasl" envPrefix:"SASL_"`
}

// KafkaTLS is TLS that is switched on: brokers' addresses do not tell.
type KafkaTLS struct {
	Enabled    bool   `yaml:"enabled" env:"ENABLED"`
	CA         string `yaml:"ca" env:"CA"`                  // PEM file of the authorities; "" = the system's
	Cert       string `yaml:"cert" env:"CERT"`              // PEM files of our certificate and its key,
	Key        string `yaml:"key" env:"KEY"`                // where brokers want to see one
	ServerName string `yaml:"serverName" env:"SERVER_NAME"` // in the brokers' certificates; "" = the host that is dialled
}

func (t KafkaTLS) files() TLS { return TLS{t.CA, t.Cert, t.Key, t.ServerName} }

// SASL is how the brokers know us.
type SASL struct {
	// Mechanism is PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER; "" = none.
	Mechanism string `yaml:"mechanism" env:"MECHANISM"`
	User      string `yaml:"user" env:"USER"` // with a tokenURL, the client's id
	Password  string `yaml:"password" env:"PASSWORD"`
	// PasswordFile holds the password instead. It is read for every connection, so that the
	// password is changed without a restart.
	PasswordFile string `yaml:"passwordFile" env:"PASSWORD_FILE"`
	// For OAUTHBEARER: TokenFile holds a token that somebody else renews, or TokenURL issues one
	// for User and Password by OAuth2's client credentials.
	TokenFile string   `yaml:"tokenFile" env:"TOKEN_FILE"`
	TokenURL  string   `yaml:"tokenURL" env:"TOKEN_URL"`
	TokenCA   string   `yaml:"tokenCA" env:"TOKEN_CA"` // PEM file of who signed the issuer's certificate; "" = the system's
	Scopes    []string `yaml:"scopes" env:"SCOPES"`
}

// Mechanisms of SASL, as brokers name them.
const (
	mechanismPlain  = "PLAIN"
	mechanismSHA256 = "SCRAM-SHA-256"
	mechanismSHA512 = "SCRAM-SHA-512"
	mechanismOAuth  = "OAUTHBEARER"
)

// Faults lists what is wrong with the settings, each with its path and the mend.
func (k Kafka) Faults() (faults []string) {
	fault := func(path, format string, args ...any) {
		faults = append(faults, path+": "+fmt.Sprintf(format, args...))
	}
	if len(k.Brokers) == 0 {
		fault("kafka.brokers", "name at least one broker as host:port")
	}
	for i, b := range k.Brokers {
		if _, _, err := net.SplitHostPort(b); err != nil {
			fault(fmt.Sprintf("kafka.brokers[%d]", i), "%q is not host:port", b)
		}
	}
	if t := k.TLS; t.Enabled {
		faults = append(faults, t.files().faults("kafka.tls")...)
	} else if t != (KafkaTLS{}) {
		fault("kafka.tls.enabled", "is not true although other tls settings are given")
	}
	s := k.SASL
	known := []string{mechanismPlain, mechanismSHA256, mechanismSHA512, mechanismOAuth}
	switch {
	case s.Mechanism == "":
		if s.User != "" || s.Password != "" || s.PasswordFile != "" || s.TokenFile != "" || s.TokenURL != "" || s.TokenCA != "" {
			fault("kafka.sasl.mechanism", "is empty although other sasl settings are given: use one of %s", strings.Join(known, ", "))
		}
		return faults
	case !slices.Contains(known, s.Mechanism):
		fault("kafka.sasl.mechanism", "%q is none of %s", s.Mechanism, strings.Join(known, ", "))
		return faults
	case s.Mechanism == mechanismOAuth && (s.TokenFile == "") == (s.TokenURL == ""):
		fault("kafka.sasl", "%s needs a tokenFile, or a tokenURL with user and password", mechanismOAuth)
		return faults
	case s.Mechanism == mechanismOAuth && s.TokenFile != "":
		return append(faults, SecretFaults("kafka.sasl", "token", "", s.TokenFile)...)
	}
	if u, err := url.Parse(s.TokenURL); s.TokenURL != "" && (err != nil || u.Host == "") {
		fault("kafka.sasl.tokenURL", "%q is not a URL", Redacted(s.TokenURL))
	} else if err == nil && u.User != nil {
		fault("kafka.sasl.tokenURL", "names a user: use kafka.sasl.user and kafka.sasl.password (or passwordFile)")
	}
	if _, err := (TLS{CA: s.TokenCA}).config(""); err != nil {
		fault("kafka.sasl.tokenCA", "%v", err)
	}
	if s.User == "" || s.Password == "" && s.PasswordFile == "" {
		fault("kafka.sasl", "user and password (or passwordFile) are both needed")
	}
	return append(faults, SecretFaults("kafka.sasl", "password", s.Password, s.PasswordFile)...)
}

// Options are what a client needs to reach the brokers. The settings are without Faults.
func (k Kafka) Options() []kgo.Opt {
	opts := []kgo.Opt{kgo.SeedBrokers(k.Brokers...)}
	if k.TLS.Enabled {
		opts = append(opts, kgo.Dialer(k.TLS.files().dial))
	}
	if m := k.SASL.mechanism(); m != nil {
		opts = append(opts, kgo.SASL(m))
	}
	return opts
}

// Client makes a client with further options. It does not connect.
func (k Kafka) Client(more ...kgo.Opt) (*kgo.Client, error) {
	client, err := kgo.NewClient(append(k.Options(), more...)...)
	if err != nil {
		return nil, fmt.Errorf("kafka: %w", err)
	}
	return client, nil
}

// mechanism asks for the secret at every connection, and when the broker wants to know again.
func (s SASL) mechanism() sasl.Mechanism {
	scrammed := func(context.Context) (scram.Auth, error) {
		password, err := s.password()
		return scram.Auth{User: s.User, Pass: password}, err
	}
	switch s.Mechanism {
	case mechanismPlain:
		return plain.Plain(func(context.Context) (plain.Auth, error) {
			password, err := s.password()
			return plain.Auth{User: s.User, Pass: password}, err
		})
	case mechanismSHA256:
		return scram.Sha256(scrammed)
	case mechanismSHA512:
		return scram.Sha512(scrammed)
	case mechanismOAuth:
		return oauth.Oauth(s.tokens())
	}
	return nil
}

func (s SASL) password() (string, error) {
	password, err := Secret(s.Password, s.PasswordFile)
	if err != nil {
		return "", fmt.Errorf("kafka.sasl.passwordFile: %w", err)
	}
	return password, nil
}
