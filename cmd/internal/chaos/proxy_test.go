package chaos

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// echo is a broker that answers every request with itself, and counts them.
func echo(t *testing.T) (address string, served chan []byte) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served = make(chan []byte, 100)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for {
					f, err := frame(c)
					if err != nil {
						return
					}
					served <- f
					if _, err := c.Write(f); err != nil {
						return
					}
				}
			}()
		}
	}()
	t.Cleanup(func() { l.Close() })
	return l.Addr().String(), served
}

func request(key kmsg.Key) []byte {
	body := binary.BigEndian.AppendUint16(nil, uint16(key))
	body = append(body, 0, 1, 0, 0, 0, 7)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

func dialWire(t *testing.T, w *wire) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", w.address())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func openWire(t *testing.T) (*wire, chan []byte) {
	t.Helper()
	w, err := newWire(1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.close(); err != nil {
			t.Error(err)
		}
	})
	address, served := echo(t)
	w.aim(address)
	return w, served
}

func TestTheProxyPassesRequestsOn(t *testing.T) {
	w, _ := openWire(t)
	c := dialWire(t, w)
	for range 3 {
		if _, err := c.Write(request(kmsg.Fetch)); err != nil {
			t.Fatal(err)
		}
		if answer, err := frame(c); err != nil || !bytes.Equal(answer, request(kmsg.Fetch)) {
			t.Fatalf("%x, %v", answer, err)
		}
	}
}

// With every request spoilt, each connection shows one of the fates; all occur, and that of
// an unheard answer has reached the broker.
func TestTheProxySpoilsRequests(t *testing.T) {
	w, served := openWire(t)
	w.spoil(1, 0, 0)
	var cut, unheard, slow int
	for range 60 {
		c := dialWire(t, w)
		if _, err := c.Write(request(kmsg.Fetch)); err != nil {
			t.Fatal(err)
		}
		_, err := frame(c)
		reached := false
		select {
		case <-served:
			reached = true
		default:
		}
		switch {
		case err == nil:
			slow++
		case reached:
			unheard++
		default:
			cut++
		}
	}
	if cut == 0 || unheard == 0 || slow == 0 {
		t.Errorf("cut %d, unheard %d, slow %d", cut, unheard, slow)
	}
}

func TestTheProxyInTheDark(t *testing.T) {
	w, _ := openWire(t)
	before := dialWire(t, w)
	if _, err := before.Write(request(kmsg.Fetch)); err != nil {
		t.Fatal(err)
	}
	if _, err := frame(before); err != nil {
		t.Fatal(err)
	}
	w.darken(true)
	for _, c := range []net.Conn{before, dialWire(t, w)} {
		if _, err := io.ReadAll(c); err != nil && !isReset(err) {
			t.Errorf("a connection is not cut: %v", err)
		}
	}
	w.darken(false)
	c := dialWire(t, w)
	if _, err := c.Write(request(kmsg.Fetch)); err != nil {
		t.Fatal(err)
	}
	if _, err := frame(c); err != nil {
		t.Errorf("after the dark: %v", err)
	}
}

func isReset(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && !op.Timeout()
}

// The end of a transaction comes late: its sender has lost the connection and hears nothing,
// and the broker gets it all the same.
func TestTheProxyBringsEndsLate(t *testing.T) {
	w, served := openWire(t)
	w.spoil(0, 0, 1)
	c := dialWire(t, w)
	if _, err := c.Write(request(kmsg.EndTxn)); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(c); err != nil && !isReset(err) || len(rest) > 0 {
		t.Errorf("the sender hears %q, %v", rest, err)
	}
	select {
	case got := <-served:
		if !bytes.Equal(got, request(kmsg.EndTxn)) {
			t.Errorf("the broker hears %q", got)
		}
	case <-time.After(10 * time.Second):
		t.Error("the broker never hears")
	}
}
