package chaos

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

// parrot is a server that says back what it hears.
func parrot(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c); _ = c.Close() }()
		}
	}()
	return l.Addr().String()
}

// heard is what comes back of "hello" until the connection ends or all is there.
func heard(t *testing.T, address string) string {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		return "refused"
	}
	defer func() { _ = c.Close() }()
	if _, err := c.Write([]byte("hello")); err != nil {
		return err.Error()
	}
	answer := make([]byte, 5)
	n, _ := io.ReadFull(c, answer) // how it ended does not matter
	return string(answer[:n])
}

func TestARelayDoesHarm(t *testing.T) {
	r, err := newRelay("127.0.0.1", parrot(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.close(); err != nil {
			t.Error(err)
		}
	}()
	expect := func(wanted string) {
		t.Helper()
		if got := heard(t, r.address); got != wanted {
			t.Errorf("heard %q, want %q", got, wanted)
		}
	}
	expect("hello")
	r.observe(func() eye {
		return func(toServer bool, chunk []byte) int {
			if toServer {
				return len(chunk)
			}
			return len(chunk) / 2
		}
	})
	expect("he")
	r.observe(nil)
	expect("hello")
	if err := r.refuse(); err != nil {
		t.Fatal(err)
	}
	expect("refused")
	if err := r.admit(); err != nil {
		t.Fatal(err)
	}
	expect("hello")
}

// A connection that is being passed on when nobody listens any more must not come about.
func TestARelayRefusesWhatItIsAboutToPassOn(t *testing.T) {
	at := parrot(t)
	for name, lose := range map[string]func(*relay) error{
		"refused":             (*relay).refuse,
		"dark":                func(r *relay) error { r.darken(true); return nil },
		"seen from its start": func(r *relay) error { r.observe(nil); return nil },
		"closed":              (*relay).close,
	} {
		t.Run(name, func(t *testing.T) {
			reaching, reach := make(chan struct{}), make(chan struct{})
			r, err := newRelayBy("127.0.0.1", func() (net.Conn, error) {
				close(reaching)
				<-reach
				return net.Dial("tcp", at)
			})
			if err != nil {
				t.Fatal(err)
			}
			c, err := net.Dial("tcp", r.address)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close() }()
			if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
				t.Fatal(err)
			}
			<-reaching
			lost := make(chan error, 1)
			go func() { lost <- lose(r) }() // close waits for those under way
			if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("the connection lives on: %v", err)
			}
			close(reach)
			if err := errors.Join(<-lost, r.close()); err != nil {
				t.Error(err)
			}
		})
	}
}
