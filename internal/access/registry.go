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
		return []string{fmt.Sprintf("registry.url: %q is not a URL such as http://registry:8081", Redacted(r.URL))}
	}
	if u.User != nil {
		faults = append(faults, "registry.url: names a user: use registry.user and registry.password (or passwordFile)")
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
	transport, err := r.TLS.Transport()
	if err != nil {
		return nil, fmt.Errorf("registry.tls: %w", err)
	}
	at, err := url.Parse(r.URL)
	if err != nil {
		return nil, fmt.Errorf("registry.url: %q is not a URL", Redacted(r.URL))
	}
	return registry.NewClient(registry.ClientConfig{URLs: []string{r.URL}, Timeout: timeout, Transport: known{r, at, transport}})
}

// known says with every request to the registry who we are. Whom it redirects to is not told.
type known struct {
	registry Registry
	at       *url.URL
	next     http.RoundTripper
}

func (k known) RoundTrip(r *http.Request) (*http.Response, error) {
	if k.registry.User == "" || r.URL.Scheme != k.at.Scheme || r.URL.Host != k.at.Host {
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
