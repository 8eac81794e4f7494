package access

import (
	"fmt"
	"net/http"
	"net/url"
	"time"

	"taximeter/schemas/registry"
)

// Registry is a Confluent-compatible schema registry.
type Registry struct {
	URL string `yaml:"url" env:"URL"` // https:// for TLS
	// User and Password are for basic authentication; "" = none. PasswordFile holds the
	// password instead, and is read for every request.
	User         string `yaml:"user" env:"USER"`
	Password     string `yaml:"password" env:"PASSWORD"`
	PasswordFile string `yaml:"passwordFile" env:"PASSWORD_FILE"`
	TLS          TLS    `yaml:"tls" envPrefix:"TLS_"`
}

// Faults lists what is wrong with the settings, each with its path and the mend.
func (r Registry) Faults() (faults []string) {
	u, err := url.Parse(r.URL)
	if err != nil || u.Scheme == "" || u.Host == "" {
		return []string{fmt.Sprintf("registry.url: %q is not a URL such as http://registry:8081", r.URL)}
	}
	if r.TLS != (TLS{}) && u.Scheme != "https" {
		faults = append(faults, "registry.url: write https:// for the tls settings to hold")
	}
	faults = append(faults, r.TLS.faults("registry.tls")...)
	if (r.User == "") != (r.Password == "" && r.PasswordFile == "") {
		faults = append(faults, "registry: user and password (or passwordFile) belong together")
	}
	return append(faults, SecretFaults("registry", "password", r.Password, r.PasswordFile)...)
}

// Client makes a client that gives each request so long (0 = its default). It does not connect.
func (r Registry) Client(timeout time.Duration) (*registry.Client, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialTLSContext = r.TLS.dial
	return registry.NewClient(registry.ClientConfig{URLs: []string{r.URL}, Timeout: timeout, Transport: known{r, transport}})
}

// known says with every request who we are.
type known struct {
	registry Registry
	next     http.RoundTripper
}

func (k known) RoundTrip(r *http.Request) (*http.Response, error) {
	if k.registry.User == "" {
		return k.next.RoundTrip(r)
	}
	password, err := Secret(k.registry.Password, k.registry.PasswordFile)
	if err != nil {
		return nil, fmt.Errorf("registry.passwordFile: %w", err)
	}
	r = r.Clone(r.Context())
	r.SetBasicAuth(k.registry.User, password)
	return k.next.RoundTrip(r)
}
