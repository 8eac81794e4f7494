package grain

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	cert := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return authority{cert, key, writePEM(t, t.TempDir(), "ca.pem", "CERTIFICATE", der)}
}

func writePEM(t *testing.T, dir, name, kind string, der []byte) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// issue makes a certificate for a name into dir; one that was there is renewed.
func (a authority) issue(t *testing.T, dir, name string) Security {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	cert := &x509.Certificate{SerialNumber: big.NewInt(2), DNSNames: []string{name}, NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, cert, a.cert, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return Security{CA: a.file, Cert: writePEM(t, dir, "node.pem", "CERTIFICATE", der), Key: writePEM(t, dir, "node.key", "PRIVATE KEY", pkcs8)}
}

func TestMutualTLS(t *testing.T) {
	ours, theirs := newAuthority(t), newAuthority(t)
	s := serve(t, ours.issue(t, t.TempDir(), DefaultName), echo)
	if _, err := client(t, ours.issue(t, t.TempDir(), DefaultName)).Ask(within(t, patience), s.Addr(), "echo", nil); err != nil {
		t.Errorf("one of us: %v", err)
	}
	foreign := theirs.issue(t, t.TempDir(), DefaultName)
	foreign.CA = ours.file // it believes us
	deceived := ours.issue(t, t.TempDir(), DefaultName)
	deceived.CA = theirs.file // it believes somebody else
	other := ours.issue(t, t.TempDir(), DefaultName)
	other.Name = "another"
	for who, sec := range map[string]Security{"without TLS": {}, "of another authority": foreign, "not made out to a node": ours.issue(t, t.TempDir(), "printer"),
		"that does not know us": deceived, "that looks for another name": other} {
		if _, err := client(t, sec).Ask(within(t, patience), s.Addr(), "echo", nil); !errors.Is(err, ErrUnreachable) {
			t.Errorf("one %s: %v", who, err)
		}
	}
}

func TestCertificatesAreRenewedInPlace(t *testing.T) {
	ours := newAuthority(t)
	dir := t.TempDir()
	s := serve(t, ours.issue(t, dir, "not yet good"), echo)
	c := client(t, ours.issue(t, t.TempDir(), DefaultName))
	if _, err := c.Ask(within(t, patience), s.Addr(), "echo", nil); err == nil {
		t.Fatal("a certificate for another name was taken")
	}
	ours.issue(t, dir, DefaultName)
	ctx := within(t, patience)
	for {
		_, err := c.Ask(ctx, s.Addr(), "echo", nil)
		if err == nil {
			return
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("the renewed certificate is not used: %v", err)
		}
	}
}

func TestFaultyFilesAreTold(t *testing.T) {
	good := newAuthority(t).issue(t, t.TempDir(), DefaultName)
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(*Security){
		"all three":                func(s *Security) { s.Key = "" },
		"holds no certificate":     func(s *Security) { s.CA = empty },
		"ca: open":                 func(s *Security) { s.CA += "x" },
		"cert and key":             func(s *Security) { s.Cert = empty },
		"no such file or director": func(s *Security) { s.Key += "x" },
	} {
		sec := good
		spoil(&sec)
		if _, err := NewClient(sec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}
