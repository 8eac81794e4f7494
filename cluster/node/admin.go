package node

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"taximeter/cluster/admin"
	"taximeter/internal/access"
)

// Admin is the HTTP server for people and monitoring.
type Admin struct {
	Listen    string `yaml:"listen" env:"LISTEN"`       // host:port
	Advertise string `yaml:"advertise" env:"ADVERTISE"` // host:port or URL that cluster status shows; "" = as Listen
	// Token lets in whoever gives it, as a bearer token or as the password of basic
	// authentication; "" = everybody. TokenFile holds it instead, or several, by lines; it is
	// read with every request, so that tokens are rotated without a restart.
	Token     string `yaml:"token" env:"TOKEN"`
	TokenFile string `yaml:"tokenFile" env:"TOKEN_FILE"`
	// Open are paths that are answered to everybody all the same.
	Open []string `yaml:"open" env:"OPEN"`
	TLS  AdminTLS `yaml:"tls" envPrefix:"TLS_"`
}

// AdminTLS names PEM files: both or none. They are read with every handshake.
type AdminTLS struct {
	Cert string `yaml:"cert" env:"CERT"`
	Key  string `yaml:"key" env:"KEY"`
}

func (a Admin) faults() (faults []string) {
	if _, _, err := net.SplitHostPort(a.Listen); err != nil {
		faults = append(faults, fmt.Sprintf("admin.listen: %q is not host:port", a.Listen))
	}
	faults = append(faults, access.SecretFaults("admin", "token", a.Token, a.TokenFile)...)
	if _, err := a.certificate(nil); err != nil && a.TLS != (AdminTLS{}) {
		faults = append(faults, fmt.Sprintf("admin.tls: cert and key: %v", err))
	}
	for i, path := range a.Open {
		switch {
		case !strings.HasPrefix(path, "/"):
			faults = append(faults, fmt.Sprintf("admin.open[%d]: %q is not a path such as /metrics", i, path))
		case path == "/drain":
			faults = append(faults, fmt.Sprintf("admin.open[%d]: /drain ends the node: it cannot be open to everybody", i))
		}
	}
	return faults
}

// Tokens are those that let in.
func (a Admin) Tokens() ([]string, error) {
	text, err := access.Secret(a.Token, a.TokenFile)
	if err != nil {
		return nil, fmt.Errorf("admin.tokenFile: %w", err)
	}
	return strings.Fields(text), nil
}

func (a Admin) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(a.TLS.Cert, a.TLS.Key)
	return &pair, err
}

func (a Admin) guarded() bool { return a.Token != "" || a.TokenFile != "" }

// Drain lets whoever runs the node know that it should stop; only those may ask who have given a token.
func (n *Node) Drain() error {
	if !n.cfg.Admin.guarded() {
		return admin.ErrUnguarded
	}
	n.drained.Do(func() { close(n.drain) })
	return nil
}

// DrainAsked is closed when somebody has asked by the admin API that the node hands over and ends: then call Stop.
func (n *Node) DrainAsked() <-chan struct{} { return n.drain }

// adminServer answers with h whom it lets in.
func (n *Node) adminServer(h http.Handler) *http.Server {
	a := n.cfg.Admin
	if a.guarded() {
		h = admin.Guarded(h, a.Tokens, a.Open, n.log)
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second, ErrorLog: slog.NewLogLogger(n.log.Handler(), slog.LevelWarn)}
	if a.TLS != (AdminTLS{}) {
		s.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: a.certificate}
	}
	return s
}

// exposed reports whether the API at an address answers to others than this machine's, whoever they are.
func (a Admin) exposed(at net.Addr) bool {
	tcp, ok := at.(*net.TCPAddr)
	return ok && !tcp.IP.IsLoopback() && !a.guarded()
}

// serve runs the server, until it is shut down.
func (a Admin) serve(s *http.Server, l net.Listener) error {
	if s.TLSConfig != nil {
		return s.ServeTLS(l, "", "")
	}
	return s.Serve(l)
}

// url of the server at an address.
func (a Admin) url(address string) string {
	if a.TLS != (AdminTLS{}) {
		return "https://" + address
	}
	return "http://" + address
}

// advertised is what other nodes tell people to ask.
func (a Admin) advertised() string {
	if a.Advertise == "" && a.TLS != (AdminTLS{}) {
		return a.url(a.Listen)
	}
	return cmp.Or(a.Advertise, a.Listen)
}

// AdminURL is where the admin server answers.
func (n *Node) AdminURL() string { return n.cfg.Admin.url(n.adminAddr) }
