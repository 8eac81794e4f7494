package chaos

import (
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"
)

// objects stands between nodes and S3, request by request: it passes them on, slows them
// down, answers 503 in the server's place, or lets the server do them and then cuts the
// connection, so that nobody hears the answer.
type objects struct {
	listener net.Listener
	server   *http.Server
	to       http.Handler
	done     chan error

	mu   sync.Mutex // guards all below
	rate float64
	dark bool
	rng  *rand.Rand
}

func newObjects(endpoint string, seed uint64) (*objects, error) {
	return newObjectsAt("127.0.0.1", endpoint, seed)
}

// newObjectsAt listens at a free port of an address of this machine.
func newObjectsAt(ip, endpoint string, seed uint64) (*objects, error) {
	target, err := url.Parse(endpoint)
	if err != nil {
		return nil, fmt.Errorf("S3 endpoint: %w", err)
	}
	o := &objects{rng: rand.New(rand.NewPCG(seed, 3)), done: make(chan error, 1)}
	o.to = &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host = target.Scheme, target.Host
		r.Out.Host = r.In.Host // the signature covers it
	}, ErrorLog: log.New(io.Discard, "", 0)} // connections end all the time
	if o.listener, err = net.Listen("tcp", net.JoinHostPort(ip, "0")); err != nil {
		return nil, fmt.Errorf("fault proxy: %w", err)
	}
	o.server = &http.Server{Handler: http.HandlerFunc(o.serve), ReadHeaderTimeout: 5 * time.Second}
	go func() { o.done <- o.server.Serve(o.listener) }()
	return o, nil
}

func (o *objects) address() string { return "http://" + o.listener.Addr().String() }

// spoil sets the share of requests that go wrong.
func (o *objects) spoil(rate float64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.rate = rate
}

// darken lets no request be answered until told otherwise.
func (o *objects) darken(dark bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.dark = dark
}

func (o *objects) close() error {
	err := o.server.Close()
	if ended := <-o.done; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}

// objectWeight is how much likelier an S3 request meets a fault than a broker's: there are
// fewer of them.
const objectWeight = 4

// slowestObject is above what a patient client would wait for a broker.
const slowestObject = 800 * time.Millisecond

func (o *objects) draw() (x, rate float64, wait time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.dark {
		return 0, -1, 0
	}
	return o.rng.Float64(), o.rate * objectWeight, time.Duration(o.rng.Int64N(int64(slowestObject)))
}

func (o *objects) serve(w http.ResponseWriter, r *http.Request) {
	switch x, rate, wait := o.draw(); {
	case rate < 0:
		panic(http.ErrAbortHandler) // closes the connection and says nothing
	case x < rate/3:
		http.Error(w, "<Error><Code>SlowDown</Code></Error>", http.StatusServiceUnavailable)
	case x < rate*2/3:
		o.to.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler) // closes the connection and says nothing
	case x < rate:
		pause(r.Context(), wait)
		fallthrough
	default:
		o.to.ServeHTTP(w, r)
	}
}
