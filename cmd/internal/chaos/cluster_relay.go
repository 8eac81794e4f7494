package chaos

import (
	"io"
	"net"
	"sync"
)

// relay passes connections on to a server that listens on the loopback interface only.
type relay struct {
	listener net.Listener
	target   string
	running  sync.WaitGroup

	mu    sync.Mutex // guards all below
	conns map[net.Conn]bool
	dark  bool
}

func newRelay(ip, target string) (*relay, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(ip, "0"))
	if err != nil {
		return nil, err
	}
	r := &relay{listener: l, target: target, conns: make(map[net.Conn]bool)}
	r.running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			r.running.Go(func() { r.serve(c) })
		}
	})
	return r, nil
}

// darken cuts all connections and refuses new ones until told otherwise.
func (r *relay) darken(dark bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dark = dark
	if dark {
		r.cut()
	}
}

// cut closes all connections. r.mu must be held.
func (r *relay) cut() {
	for c := range r.conns {
		_ = c.Close() // its reader ends
	}
}

func (r *relay) address() string { return r.listener.Addr().String() }

func (r *relay) serve(client net.Conn) {
	server, err := net.Dial("tcp", r.target)
	if err != nil {
		_ = client.Close() // so the client sees it
		return
	}
	end := func() { _, _ = client.Close(), server.Close() } // both ends together
	r.mu.Lock()
	r.conns[client], r.conns[server] = true, true
	if r.dark {
		end()
	}
	r.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { defer end(); _, _ = io.Copy(server, client) })
	both.Go(func() { defer end(); _, _ = io.Copy(client, server) })
	both.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.conns, client)
	delete(r.conns, server)
}

func (r *relay) close() error {
	err := r.listener.Close()
	r.mu.Lock()
	r.cut()
	r.mu.Unlock()
	r.running.Wait()
	return err
}
