package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"taximeter/schemas"
)

// channel is a Channel that can be posted to. Lanes of all partitions share it.
type channel struct {
	Channel
	key     []byte // signs; nil = no signature
	client  *http.Client
	timeout time.Duration
	failing atomic.Int32 // lanes that wait to try again
}

func newChannel(c Channel, timeout time.Duration) (*channel, error) {
	key, err := signingKey(c.Secret)
	if err != nil {
		return nil, fmt.Errorf("channel %s: %w", c.Name, err)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if c.CA != "" {
		pem, err := os.ReadFile(c.CA)
		if err != nil {
			return nil, fmt.Errorf("channel %s: authorities to trust: %w", c.Name, err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("channel %s: %s holds no PEM certificate", c.Name, c.CA)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	return &channel{Channel: c, key: key, timeout: timeout, client: &http.Client{Transport: transport,
		// A signed request must not be carried to another address.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}, nil
}

// refusedError is an answer that sending again will not change.
type refusedError struct{ error }

func (e refusedError) Unwrap() error { return e.error }

// busyError is an answer that says when to come again.
type busyError struct {
	error
	after time.Duration // 0 = it does not say
}

func (e busyError) Unwrap() error { return e.error }

// post makes one attempt. An error that is no refusedError may go away.
func (c *channel) post(ctx context.Context, a *schemas.Alert, now time.Time) error {
	data, err := body(c.Format, a)
	if err != nil {
		return refusedError{err}
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL, bytes.NewReader(data))
	if err != nil {
		return refusedError{hideURL(err)}
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "taximeter")
	r.Header.Set("Idempotency-Key", a.AlertID)
	c.sign(r.Header, a.AlertID, now, data)
	answer, err := c.client.Do(r)
	if err != nil {
		return hideURL(err)
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 512)) // of an answer that broke off the status counts
	return judge(answer, text)
}

// judge reads an answer: what is neither a success nor the server's or the hour's trouble
// will be answered the same again.
func judge(answer *http.Response, text []byte) error {
	err := fmt.Errorf("HTTP %d %s", answer.StatusCode, strings.ToValidUTF8(strings.TrimSpace(string(text)), "?"))
	switch s := answer.StatusCode; {
	case s >= 200 && s < 300:
		return nil
	case s == http.StatusRequestTimeout, s == http.StatusTooEarly, s == http.StatusTooManyRequests, s >= 500:
		return busyError{err, retryAfter(answer.Header.Get("Retry-After"))}
	}
	return refusedError{err}
}

// retryAfter reads the form in seconds; servers that limit rates use no other.
func retryAfter(text string) time.Duration {
	seconds, err := strconv.Atoi(text)
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// sign adds the headers of Standard Webhooks.
func (c *channel) sign(h http.Header, id string, now time.Time, data []byte) {
	if c.key == nil {
		return
	}
	at := strconv.FormatInt(now.Unix(), 10)
	mac := hmac.New(sha256.New, c.key)
	mac.Write([]byte(id + "." + at + "."))
	mac.Write(data)
	h.Set("Webhook-Id", id)
	h.Set("Webhook-Timestamp", at)
	h.Set("Webhook-Signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
}

// hideURL takes the address out of an error of the HTTP client.
func hideURL(err error) error {
	if at, ok := errors.AsType[*url.Error](err); ok {
		return at.Err
	}
	return err
}
