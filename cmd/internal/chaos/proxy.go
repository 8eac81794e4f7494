package chaos

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// wire stands between nodes and the broker, request by request: it passes them on, slows
// them down, cuts the connection before them, or lets the broker do them and then cuts, so
// that nobody hears the answer.
type wire struct {
	listener net.Listener
	running  sync.WaitGroup

	mu     sync.Mutex // guards all below
	target string     // address of the broker
	// rename changes an answer on its way to the client; nil = as it is.
	rename func(key, version int16, answer []byte) []byte
	rate   float64
	deaf   float64 // share of transaction ends that are unheard
	late   float64 // share of transaction ends that come when their sender is gone
	rng    *rand.Rand
	dark   bool
	// refused are the kinds of requests that cut their connection.
	refused []kmsg.Key
	conns   map[net.Conn]bool
}

func newWire(seed uint64) (*wire, error) { return newWireAt("127.0.0.1", seed) }

// newWireAt listens at a free port of an address of this machine.
func newWireAt(ip string, seed uint64) (*wire, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(ip, "0"))
	if err != nil {
		return nil, fmt.Errorf("fault proxy: %w", err)
	}
	w := &wire{listener: l, rng: rand.New(rand.NewPCG(seed, 2)), conns: make(map[net.Conn]bool)}
	w.running.Go(w.accept)
	return w, nil
}

func (w *wire) address() string { return w.listener.Addr().String() }

// aim says where the broker is.
func (w *wire) aim(target string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.target = target
}

// renaming sets what changes the answers of connections to come.
func (w *wire) renaming(rename func(key, version int16, answer []byte) []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rename = rename
}

// spoil sets the share of requests that go wrong, of the ends of transactions whose answer
// alone gets lost, and of those that come late.
func (w *wire) spoil(rate, deaf, late float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rate, w.deaf, w.late = rate, deaf, late
}

// refuse lets requests of some kinds cut their connection, and no others any more.
func (w *wire) refuse(keys ...kmsg.Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refused = keys
}

// darken cuts all connections and refuses new ones until told otherwise.
func (w *wire) darken(dark bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dark = dark
	if dark {
		w.cut()
	}
}

// cut closes all connections. w.mu must be held.
func (w *wire) cut() {
	for c := range w.conns {
		_ = c.Close() // its readers end
	}
}

func (w *wire) close() error {
	err := w.listener.Close()
	w.mu.Lock()
	w.cut()
	w.mu.Unlock()
	w.running.Wait()
	return err
}

func (w *wire) accept() {
	for {
		c, err := w.listener.Accept()
		if err != nil {
			return
		}
		w.running.Go(func() { w.serve(c) })
	}
}

// admit notes a connection to be closed with all; false if there are to be none.
func (w *wire) admit(conns ...net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dark {
		return false
	}
	for _, c := range conns {
		w.conns[c] = true
	}
	return true
}

func (w *wire) forget(conns ...net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range conns {
		_ = c.Close() // both sides end together
		delete(w.conns, c)
	}
}

// serve passes one connection's requests and answers on until either side ends.
func (w *wire) serve(client net.Conn) {
	w.mu.Lock()
	target, rename := w.target, w.rename
	w.mu.Unlock()
	broker, err := net.Dial("tcp", target)
	if err != nil {
		_ = client.Close() // nobody is there: so the client sees it
		return
	}
	defer w.forget(client, broker)
	if !w.admit(client, broker) {
		return
	}
	type asked struct {
		key, version int16
		unheard      bool
	}
	requests := make(chan asked, 10_000) // under way, in order
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	w.running.Go(func() {
		defer cancel()
		defer w.forget(client, broker)
		for {
			answer, err := frame(broker)
			if err != nil {
				return
			}
			request := <-requests
			if request.unheard {
				return
			}
			if rename != nil {
				answer = rename(request.key, request.version, answer)
			}
			if _, err := client.Write(answer); err != nil {
				return
			}
		}
	})
	for {
		request, err := frame(client)
		if err != nil {
			return
		}
		key := int16(binary.BigEndian.Uint16(request[4:]))
		f := w.draw(key)
		if f.late > 0 {
			w.running.Go(func() { w.deliver(target, request, f.late) })
			return
		}
		if f.cut || !pause(ctx, f.wait) {
			return
		}
		requests <- asked{key, int16(binary.BigEndian.Uint16(request[6:])), f.unheard}
		if _, err := broker.Write(request); err != nil {
			return
		}
	}
}

// deliver brings a request to the broker after a while, on a connection of its own. Nobody
// hears the answer.
func (w *wire) deliver(target string, request []byte, after time.Duration) {
	pause(context.Background(), after)
	broker, err := net.Dial("tcp", target)
	if err != nil {
		return // it is down, and the request lost
	}
	defer broker.Close()
	if broker.SetDeadline(time.Now().Add(time.Second)) != nil {
		return
	}
	if _, err := broker.Write(request); err == nil {
		_, _ = frame(broker)
	}
}

// fate is what becomes of one request.
type fate struct {
	cut, unheard bool
	wait         time.Duration
	late         time.Duration // it is brought so much later, and its connection cut
}

const (
	latest         = time.Second
	slowestRequest = 200 * time.Millisecond
	// Requests of transactions are few and what they do matters most.
	transactionWeight = 15
)

func (w *wire) draw(key int16) (f fate) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if slices.Contains(w.refused, kmsg.Key(key)) {
		return fate{cut: true}
	}
	if kmsg.Key(key) == kmsg.EndTxn && w.deaf > 0 && w.rng.Float64() < w.deaf {
		return fate{unheard: true}
	}
	if kmsg.Key(key) == kmsg.EndTxn && w.late > 0 && w.rng.Float64() < w.late {
		return fate{late: time.Duration(1 + w.rng.Int64N(int64(latest)))}
	}
	if w.rate == 0 {
		return f
	}
	rate := w.rate
	switch kmsg.Key(key) {
	case kmsg.EndTxn, kmsg.InitProducerID, kmsg.AddPartitionsToTxn, kmsg.Produce:
		rate *= transactionWeight
	}
	switch x := w.rng.Float64(); {
	case x < rate/3:
		f.cut = true
	case x < rate*2/3:
		f.unheard = true
	case x < rate:
		f.wait = time.Duration(w.rng.Int64N(int64(slowestRequest)))
	}
	return f
}

// maxFrame bounds what one request or answer may be (bytes).
const maxFrame = 128 << 20

// frame reads one request or answer, its length included.
func frame(r io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n < 4 || n > maxFrame {
		return nil, errors.New("not a Kafka frame")
	}
	all := make([]byte, 4+n)
	copy(all, head[:])
	_, err := io.ReadFull(r, all[4:])
	return all, err
}

// pause waits; false if ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	if d == 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
