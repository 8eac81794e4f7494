package access

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sr"
)

const (
	// checkTimeout bounds a check, and is how long a broker must close on us before we judge:
	// one that starts or ends does so too.
	checkTimeout = 15 * time.Second
	checkPause   = 250 * time.Millisecond
	// probeTimeout is for brokers that were just spoken to; some say nothing to a handshake.
	probeTimeout = time.Second
)

// Check asks a broker for the topics, and gives an error only for what no waiting mends: who
// we are, or how we speak. Brokers that are down are not its affair, nor are those that a proxy
// stands for: it takes connections and closes them.
func (k Kafka) Check(ctx context.Context) error {
	var answered answers
	client, err := k.Client(kgo.RequestRetries(0), kgo.DisableClientMetrics(), kgo.WithHooks(&answered))
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	for closed := error(nil); ; {
		err := client.Ping(ctx)
		switch {
		case err == nil:
			return nil
		case errors.Is(ctx.Err(), context.DeadlineExceeded) && closed != nil:
			return fmt.Errorf("kafka %v: %w; %s", k.Brokers, closed, k.closedOn())
		}
		mend := k.Mend(err)
		_, unshaken := errors.AsType[*handshakeError](err)
		switch {
		case mend != "":
		case !k.TLS.Enabled && k.offersTLS(ctx):
			mend = "the broker asks for TLS at this port: set kafka.tls.enabled"
		case unshaken && k.speaksClear(ctx):
			mend = "the broker does not speak TLS at this port: name another in kafka.brokers, or leave out kafka.tls"
		case !answered.any.Swap(false) || !errors.Is(err, io.EOF):
			return nil
		}
		if mend != "" {
			return fmt.Errorf("kafka %v: %w; %s", k.Brokers, err, mend)
		}
		closed = err
		select {
		case <-ctx.Done():
		case <-time.After(checkPause):
		}
	}
}

// answers notes whether a broker has answered anything: before it knows who we are it tells
// the protocol's versions, so that one that then closes does not want us.
type answers struct{ any atomic.Bool }

// OnBrokerRead implements kgo.HookBrokerRead.
func (a *answers) OnBrokerRead(_ kgo.BrokerMetadata, _ int16, read int, _, _ time.Duration, err error) {
	if err == nil && read > 0 {
		a.any.Store(true)
	}
}

// speaksClear reports whether one of the brokers answers without TLS. It is not told who we are.
func (k Kafka) speaksClear(ctx context.Context) bool {
	var answered answers
	client, err := Kafka{Brokers: k.Brokers}.Client(kgo.RequestRetries(0), kgo.DisableClientMetrics(), kgo.WithHooks(&answered))
	if err != nil {
		return false
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	return client.Ping(ctx) == nil || answered.any.Load()
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
	}
	return ""
}

// closedOn says what to set against a broker that answers, and then closes without a word: so
// it does on who does not speak as it wants to be spoken to.
func (k Kafka) closedOn() string {
	s := k.SASL
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
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok { // an end or a silence may be anybody's who is down
		return "the other side does not speak TLS at this port: name another, or leave out " + path
	}
	return ""
}
