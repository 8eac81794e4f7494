package chaos

import (
	"errors"
	"net"
	"sync"
)

// relay passes connections on to a server that listens on the loopback interface only.
type relay struct {
	address string
	target  string
	running sync.WaitGroup

	mu       sync.Mutex // guards all below
	listener net.Listener
	conns    map[net.Conn]bool
	dark     bool
	// watch makes what is asked about each chunk of a new connection; nil = all pass.
	watch func() eye
}

// eye sees a chunk that is about to pass and tells how many bytes of it do. If that is not all,
// the connection ends on both sides. It is asked by one goroutine at a time.
type eye func(toServer bool, chunk []byte) (pass int)

func newRelay(ip, target string) (*relay, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(ip, "0"))
	if err != nil {
		return nil, err
	}
	r := &relay{address: l.Addr().String(), target: target, conns: make(map[net.Conn]bool)}
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
	r.cut()
	return r.listener.Close()
}

// admit listens again after refuse.
func (r *relay) admit() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	l, err := net.Listen("tcp", r.address)
	if err == nil {
		r.listen(l)
	}
	return err
}

// observe sets what watches connections, and cuts those that it has not seen from their start.
func (r *relay) observe(watch func() eye) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watch = watch
	r.cut()
}

// cut closes all connections. r.mu must be held.
func (r *relay) cut() {
	for c := range r.conns {
		_ = c.Close() // its reader ends
	}
}

func (r *relay) serve(client net.Conn) {
	server, err := net.Dial("tcp", r.target)
	if err != nil {
		_ = client.Close() // so the client sees it
		return
	}
	end := func() { _, _ = client.Close(), server.Close() } // both ends together
	var sees eye
	r.mu.Lock()
	r.conns[client], r.conns[server] = true, true
	if r.dark {
		end()
	}
	if r.watch != nil {
		sees = singly(r.watch())
	}
	r.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { defer end(); pump(server, client, true, sees) })
	both.Go(func() { defer end(); pump(client, server, false, sees) })
	both.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.conns, client)
	delete(r.conns, server)
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
	err := r.listener.Close()
	r.cut()
	r.mu.Unlock()
	r.running.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil // it was refusing
	}
	return err
}
