package access

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sr"
)

// checkTimeout bounds a check: brokers that are down are not its affair. A handshake that gets
// no answer is tried twice.
const checkTimeout = 3 * handshakeTimeout

// probeTimeout is for brokers that were just spoken to; some say nothing to a handshake.
const probeTimeout = time.Second

// Check asks a broker for the topics once, and gives an error only for what no waiting mends:
// who we are, or how we speak.
func (k Kafka) Check(ctx context.Context) error {
	client, err := k.Client(kgo.RequestRetries(0), kgo.DisableClientMetrics())
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	err = client.Ping(ctx)
	if err == nil {
		return nil
	}
	mend := k.Mend(err)
	if !k.TLS.Enabled && k.offersTLS(ctx) {
		mend = "the broker asks for TLS at this port: set kafka.tls.enabled"
	}
	if mend == "" {
		return nil
	}
	return fmt.Errorf("kafka %v: %w; %s", k.Brokers, err, mend)
}

// offersTLS reports whether one of the brokers answers a handshake. Nothing else is said to it.
func (k Kafka) offersTLS(ctx context.Context) bool {
	for _, address := range k.Brokers {
		d := tls.Dialer{NetDialer: &net.Dialer{Timeout: probeTimeout}, Config: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // whoever it is
		conn, err := d.DialContext(ctx, "tcp", address)
		if err == nil {
			return conn.Close() == nil
		}
		if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "remote error" {
			return true
		}
	}
	return false
}

// Mend says what to set against an error of who we are or how we speak; "" = it is another.
func (k Kafka) Mend(err error) string {
	if mend := tlsMend(err, "kafka.tls"); mend != "" {
		return mend
	}
	s := k.SASL
	switch {
	case errors.Is(err, kerr.SaslAuthenticationFailed):
		return fmt.Sprintf("the broker does not take kafka.sasl.user %q with its password, or token, by %s", s.User, s.Mechanism)
	case errors.Is(err, kerr.UnsupportedSaslMechanism):
		return fmt.Sprintf("the broker does not offer %s: set another kafka.sasl.mechanism", s.Mechanism)
	case errors.Is(err, kerr.IllegalSaslState):
		return "the broker asks for no SASL at this port: leave kafka.sasl out, or name its port for SASL in kafka.brokers"
	case !errors.Is(err, io.EOF):
		return ""
	}
	// A broker closes without a word on who does not speak as it wants to be spoken to.
	switch {
	case !k.TLS.Enabled && s.Mechanism == "":
		return "the broker asks for TLS or for SASL at this port: set kafka.tls.enabled, kafka.sasl"
	case s.Mechanism == "":
		return "the broker asks for SASL: set kafka.sasl.mechanism, user and password"
	case !k.TLS.Enabled:
		return fmt.Sprintf("the broker asks for TLS at this port (set kafka.tls.enabled), or does not take kafka.sasl.user %q by %s", s.User, s.Mechanism)
	}
	return fmt.Sprintf("the broker does not take kafka.sasl.user %q by %s", s.User, s.Mechanism)
}

// Mend says what to set against an error of who we are or how we speak; "" = it is another.
func (r Registry) Mend(err error) string {
	if answer, ok := errors.AsType[*sr.ResponseError](err); ok && answer.StatusCode == http.StatusUnauthorized {
		return "set registry.user and registry.password to what the registry knows"
	}
	return tlsMend(err, "registry.tls")
}

// tlsMend says what to set against a failed handshake; path is that of the settings.
func tlsMend(err error, path string) string {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return fmt.Sprintf("trust who signed it with %s.ca, or name what it is made out to with %s.serverName", path, path)
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "remote error" { // so crypto/tls tells of an alert
		return fmt.Sprintf("the other side refuses the handshake: it may want our certificate, see %s.cert and %s.key", path, path)
	}
	if _, ok := errors.AsType[*handshakeError](err); ok {
		return "the other side does not speak TLS at this port: name another, or leave out " + path
	}
	return ""
}
