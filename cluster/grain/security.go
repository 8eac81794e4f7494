package grain

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// Security says how nodes know each other: by certificates of one authority, both ways.
// The zero value is none at all: whoever reaches the port may ask.
type Security struct {
	Cert, Key string // PEM files of this node; read at each handshake, so they may be renewed
	CA        string // PEM file of who signs the nodes' certificates; read at the start
	// Name is what every node's certificate must be made out to, as a DNS name; "" =
	// DefaultName. Addresses are not checked: nodes move.
	Name string
}

// DefaultName is the name in the nodes' certificates.
const DefaultName = "taximeter"

// Off reports whether there is none.
func (s Security) Off() bool { return s.Cert == "" && s.Key == "" && s.CA == "" }

func (s Security) credentials() (server, client credentials.TransportCredentials, err error) {
	if s.Off() {
		return insecure.NewCredentials(), insecure.NewCredentials(), nil
	}
	if s.Cert == "" || s.Key == "" || s.CA == "" {
		return nil, nil, errors.New("mutual TLS needs cert, key and ca, all three")
	}
	pem, err := os.ReadFile(s.CA)
	if err != nil {
		return nil, nil, fmt.Errorf("ca: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, nil, fmt.Errorf("ca: %s holds no certificate in PEM form", s.CA)
	}
	if _, err := s.own(); err != nil {
		return nil, nil, err
	}
	name := s.Name
	if name == "" {
		name = DefaultName
	}
	// A peer's certificate is checked for the name on both sides: the authority may sign for
	// others than nodes.
	named := func(c tls.ConnectionState) error { return c.PeerCertificates[0].VerifyHostname(name) }
	return credentials.NewTLS(&tls.Config{
			MinVersion: tls.VersionTLS13, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool, VerifyConnection: named,
			GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return s.own() },
		}), credentials.NewTLS(&tls.Config{
			MinVersion: tls.VersionTLS13, RootCAs: pool, ServerName: name,
			GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return s.own() },
		}), nil
}

func (s Security) own() (*tls.Certificate, error) {
	cert, err := tls.LoadX509KeyPair(s.Cert, s.Key)
	if err != nil {
		return nil, fmt.Errorf("cert and key: %w", err)
	}
	return &cert, nil
}
