package chaos

import (
	"errors"
	"io"
	"net"
	"sync"
)

// relay passes connections on to a server that listens on the loopback interface only.
type relay struct {
	address string
	dial    func() (net.Conn, error) // reaches the server
	running sync.WaitGroup

	mu       sync.Mutex // guards all below
	listener net.Listener
	port     io.Closer         // keeps the address from others while nobody listens; nil = the listener has it
	conns    map[net.Conn]bool // clients from when they are accepted, servers from when they are reached
	dark     bool              // new connections end at once
	// watch makes what is asked about each chunk of a new connection; nil = all pass.
	watch func() eye
}

// eye sees a chunk that is about to pass and tells how many bytes of it do. If that is not all,
// the connection ends on both sides. It is asked by one goroutine at a time.
type eye func(toServer bool, chunk []byte) (pass int)

func newRelay(ip, target string) (*relay, error) {
	return newRelayBy(ip, func() (net.Conn, error) { return net.Dial("tcp", target) })
}

func newRelayBy(ip string, dial func() (net.Conn, error)) (*relay, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(ip, "0"))
	if err != nil {
		return nil, err
	}
	r := &relay{address: l.Addr().String(), dial: dial, conns: make(map[net.Conn]bool)}
	r.listen(l)
	return r, nil
}

func (r *relay) listen(l net.Listener) {
	r.listener = l
	r.running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			r.running.Go(func() { r.serve(c) })
		}
	})
}

// darken cuts all connections and ends new ones at once until told otherwise.
func (r *relay) darken(dark bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dark = dark
	if dark {
		r.cut()
	}
}

// refuse cuts all connections and lets nobody listen any more, as where no server runs.
func (r *relay) refuse() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := r.end()
	if err == nil {
		r.port, err = occupy(r.address)
	}
	return err
}

// end is the end of all connections, also of those that are only just accepted, and of
// listening. r.mu must be held.
func (r *relay) end() error {
	r.dark = true
	r.cut()
	return r.listener.Close()
}

// admit listens again after refuse.
func (r *relay) admit() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.release(); err != nil {
		return err
	}
	l, err := net.Listen("tcp", r.address)
	if err == nil {
		r.dark = false
		r.listen(l)
	}
	return err
}

// release lets go of the address. r.mu must be held.
func (r *relay) release() error {
	if r.port == nil {
		return nil
	}
	err := r.port.Close()
	r.port = nil
	return err
}

// observe sets what watches connections, and cuts those that it has not seen from their start.
func (r *relay) observe(watch func() eye) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watch = watch
	r.cut()
}

// cut closes all connections and forgets them. r.mu must be held.
func (r *relay) cut() {
	for c := range r.conns {
		_ = c.Close() // its reader ends
	}
	clear(r.conns)
}

// enter notes a connection to be cut with all; false if there are to be none.
func (r *relay) enter(client net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.dark {
		r.conns[client] = true
	}
	return !r.dark
}

// reach notes the server's side. If the client was cut meanwhile, its end is the server's.
func (r *relay) reach(server net.Conn) (sees eye) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conns[server] = true
	if r.watch != nil {
		sees = singly(r.watch())
	}
	return sees
}

func (r *relay) serve(client net.Conn) {
	defer client.Close() // so the client sees what ends it
	if !r.enter(client) {
		return
	}
	defer r.forget(client)
	server, err := r.dial()
	if err != nil {
		return
	}
	defer r.forget(server)
	sees := r.reach(server)
	end := func() { _, _ = client.Close(), server.Close() } // both ends together
	var both sync.WaitGroup
	both.Go(func() { defer end(); pump(server, client, true, sees) })
	both.Go(func() { defer end(); pump(client, server, false, sees) })
	both.Wait()
}

func (r *relay) forget(c net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.conns, c)
}

// singly lets an eye see one chunk at a time.
func singly(sees eye) eye {
	var mu sync.Mutex
	return func(toServer bool, chunk []byte) int {
		mu.Lock()
		defer mu.Unlock()
		return sees(toServer, chunk)
	}
}

// pump passes on what comes until either side ends or the eye does not let it pass.
func pump(to, from net.Conn, toServer bool, sees eye) {
	chunk := make([]byte, 32<<10)
	for {
		n, err := from.Read(chunk)
		pass := n
		if n > 0 && sees != nil {
			pass = sees(toServer, chunk[:n])
		}
		if _, failed := to.Write(chunk[:pass]); failed != nil || pass < n || err != nil {
			return
		}
	}
}

func (r *relay) close() error {
	r.mu.Lock()
	err := r.end()
	if errors.Is(err, net.ErrClosed) {
		err = nil // it was refusing
	}
	err = errors.Join(err, r.release())
	r.mu.Unlock()
	r.running.Wait()
	return err
}
