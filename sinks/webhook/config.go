package webhook

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"taximeter/actors/rule"
)

// Config says who is told what. Without channels nothing is delivered.
type Config struct {
	Channels []Channel `yaml:"channels" envPrefix:"CHANNELS"`
	// Timeout of one attempt. A longer one lets slow endpoints answer; a hanging one then
	// holds its own line for as long.
	Timeout time.Duration `yaml:"timeout" env:"TIMEOUT"`
	// Budget is how long an alert is tried at a channel that fails before it is written to
	// corridas.alertas.nao_entregues. A longer one outlasts longer outages and tells people
	// older news.
	Budget time.Duration `yaml:"budget" env:"BUDGET"`
}

// Channel is one endpoint that people listen to.
type Channel struct {
	Name string `yaml:"name" env:"NAME"` // in metrics, logs and records; the address is in none of them
	URL  string `yaml:"url" env:"URL"`
	// Format is json, the alert with a summary, or slack, a text that Slack, Mattermost and
	// Rocket.Chat take.
	Format string `yaml:"format" env:"FORMAT"`
	// Regions whose alerts go here; none = those of every region that no channel names, and
	// of trips whose region is unknown. "*" = all.
	Regions []string `yaml:"regions" env:"REGIONS"`
	Kinds   []string `yaml:"kinds" env:"KINDS"` // kinds of alerts that go here; none = all
	// Secret signs every request, as Standard Webhooks says; "" = no signature.
	Secret string `yaml:"secret" env:"SECRET"`
	CA     string `yaml:"ca" env:"CA"` // PEM file of the authorities to trust; "" = those of the system
}

// The formats of a channel.
const (
	formatJSON  = "json"
	formatSlack = "slack"
)

// everywhere stands for all regions.
const everywhere = "*"

// Default has no channels.
func Default() Config { return Config{Timeout: 5 * time.Second, Budget: 5 * time.Minute} }

var channelName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`)

// Faults are all that is wrong, each behind its path below the section's.
func (c Config) Faults(section string) (faults []string) {
	fault := func(path, format string, args ...any) {
		faults = append(faults, section+"."+path+": "+fmt.Sprintf(format, args...))
	}
	if c.Timeout < 100*time.Millisecond || c.Timeout > 30*time.Second {
		fault("timeout", "%s: use 100ms to 30s", c.Timeout)
	}
	if c.Budget < c.Timeout || c.Budget > 24*time.Hour {
		fault("budget", "%s: use at least the timeout and at most 24h", c.Budget)
	}
	names := map[string]int{}
	for i, ch := range c.Channels {
		at := fmt.Sprintf("channels[%d].", i)
		if !channelName.MatchString(ch.Name) {
			fault(at+"name", "%q: use lower-case letters, digits, dots and dashes", ch.Name)
		} else if first, twice := names[ch.Name]; twice {
			fault(at+"name", "%q is the name of channels[%d] too", ch.Name, first)
		} else {
			names[ch.Name] = i
		}
		// The address may be a secret: it is not repeated.
		if u, err := url.Parse(ch.URL); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			fault(at+"url", "not a URL such as https://hooks.example.com/alerts")
		}
		if ch.Format != "" && ch.Format != formatJSON && ch.Format != formatSlack {
			fault(at+"format", "%q: use %s or %s", ch.Format, formatJSON, formatSlack)
		}
		for _, kind := range ch.Kinds {
			if !slices.Contains(rule.Kinds(), kind) {
				fault(at+"kinds", "there is no kind %q: use %s", kind, strings.Join(rule.Kinds(), ", "))
			}
		}
		if slices.Contains(ch.Regions, everywhere) && len(ch.Regions) > 1 {
			fault(at+"regions", "%q is all regions: leave the others out", everywhere)
		}
		if _, err := signingKey(ch.Secret); err != nil {
			fault(at+"secret", "%v", err)
		}
	}
	return faults
}

// signingKey reads a Standard Webhooks secret; nil for none.
func signingKey(secret string) ([]byte, error) {
	if secret == "" {
		return nil, nil
	}
	text, prefixed := strings.CutPrefix(secret, "whsec_")
	key, err := base64.StdEncoding.DecodeString(text)
	if !prefixed || err != nil || len(key) < 24 || len(key) > 64 {
		return nil, fmt.Errorf("use whsec_ and 24 to 64 random bytes in base64, as of `echo whsec_$(openssl rand -base64 32)`")
	}
	return key, nil
}
