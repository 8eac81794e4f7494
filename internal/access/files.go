package access

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

// TLS says whom we trust and who we are. The files are PEM.
type TLS struct {
	CA         string `yaml:"ca" env:"CA"`                  // authorities; "" = the system's
	Cert       string `yaml:"cert" env:"CERT"`              // ours, with Key, where clients must show one
	Key        string `yaml:"key" env:"KEY"`                //
	ServerName string `yaml:"serverName" env:"SERVER_NAME"` // in the server's certificate; "" = the host that is dialled
}

// faults of the settings at a path such as "kafka.tls".
func (t TLS) faults(path string) (faults []string) {
	if (t.Cert == "") != (t.Key == "") {
		faults = append(faults, path+": cert and key belong together")
	}
	if _, err := t.config("host"); err != nil {
		faults = append(faults, path+": "+err.Error())
	}
	return faults
}

// config reads the files as they are now.
func (t TLS) config(host string) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	if c.ServerName == "" {
		c.ServerName = host
	}
	if t.CA != "" {
		text, err := os.ReadFile(t.CA)
		if err != nil {
			return nil, fmt.Errorf("ca: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("ca: %s holds no certificate in PEM form", t.CA)
		}
	}
	if t.Cert != "" && t.Key != "" {
		pair, err := tls.LoadX509KeyPair(t.Cert, t.Key)
		if err != nil {
			return nil, fmt.Errorf("cert and key: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

const (
	dialTimeout      = 10 * time.Second
	handshakeTimeout = 5 * time.Second
)

// handshakeError is a server that ends, or does not answer, a handshake.
type handshakeError struct{ err error }

func (e *handshakeError) Error() string { return "no TLS handshake: " + e.err.Error() }
func (e *handshakeError) Unwrap() error { return e.err }

// dial connects and shakes hands.
func (t TLS) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	c, err := t.config(host)
	if err != nil {
		return nil, fmt.Errorf("tls: %w", err)
	}
	conn, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	secured := tls.Client(conn, c)
	within, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	if err := secured.HandshakeContext(within); err != nil {
		return nil, errors.Join(&handshakeError{err}, conn.Close())
	}
	return secured, nil
}

// Transport is for HTTP. It reads the files with every connection; for one through a proxy
// (HTTPS_PROXY) they are as they are now.
func (t TLS) Transport() (*http.Transport, error) {
	c, err := t.config("")
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig, transport.DialTLSContext = c, t.dial
	return transport, nil
}

// Secret is a text that is given, or lies in a file whose last line break does not count.
func Secret(given, file string) (string, error) {
	if file == "" {
		return given, nil
	}
	text, err := os.ReadFile(file)
	return strings.TrimRight(string(text), "\r\n"), err
}

// SecretFaults are those of a secret that is given or in a file, at a path such as "kafka.sasl".
func SecretFaults(path, name, given, file string) []string {
	if given != "" && file != "" {
		return []string{fmt.Sprintf("%s.%sFile: give %s or a file of it, not both", path, name, name)}
	}
	text, err := Secret(given, file)
	if err == nil && file != "" && text == "" {
		err = errors.New(file + " is empty")
	}
	if err != nil {
		return []string{fmt.Sprintf("%s.%sFile: %v", path, name, err)}
	}
	return nil
}
