package grain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
)

var (
	// ErrUnreachable is a node that cannot be reached, or whose connection broke: it may have
	// been asked or not. Where the owner is may have changed; look again.
	ErrUnreachable = errors.New("node cannot be reached")
	// ErrBusy is a node, or this client, with more questions than it takes at once.
	ErrBusy = errors.New("too many questions at once, or too large an answer")
	// ErrFailed is a node that could not answer; its log says why.
	ErrFailed = errors.New("node failed to answer")
)

const (
	keepaliveEvery = 10 * time.Second
	// connectTimeout is for an address that answers nothing at all.
	connectTimeout = 2 * time.Second
)

// Client asks other nodes. It keeps one connection for each address.
type Client struct {
	options []grpc.DialOption
	slots   chan struct{}

	mu     sync.Mutex // guards the rest
	conns  map[string]*grpc.ClientConn
	closed bool
}

// NewClient connects to nobody yet.
func NewClient(sec Security) (*Client, error) {
	_, creds, err := sec.credentials()
	if err != nil {
		return nil, fmt.Errorf("remote: %w", err)
	}
	return newClient(creds), nil
}

func newClient(creds credentials.TransportCredentials) *Client {
	return &Client{conns: make(map[string]*grpc.ClientConn), slots: make(chan struct{}, AtOnce), options: []grpc.DialOption{
		grpc.WithTransportCredentials(creds), grpc.WithDisableServiceConfig(), grpc.WithNoProxy(), grpc.WithIdleTimeout(5 * time.Minute),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(codec{}), grpc.MaxCallRecvMsgSize(MaxBytes), grpc.MaxCallSendMsgSize(MaxBytes)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepaliveEvery, Timeout: 5 * time.Second}),
		// A node that comes back is asked again within a second.
		grpc.WithConnectParams(grpc.ConnectParams{MinConnectTimeout: connectTimeout,
			Backoff: backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second}}),
	}}
}

// Ask sends a question to the node at addr and waits for the answer, at most until ctx ends.
// The error is a *Refusal, or wraps ErrUnreachable, ErrBusy, ErrUnknownKind, ErrFailed or
// ctx's.
func (c *Client) Ask(ctx context.Context, addr, kind string, payload []byte) ([]byte, error) {
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	default:
		return nil, fmt.Errorf("ask %s for %s: %w", addr, kind, ErrBusy)
	}
	conn, err := c.conn(addr)
	if err != nil {
		return nil, fmt.Errorf("ask %s for %s: %w", addr, kind, err)
	}
	ctx, cancel := context.WithTimeout(ctx, LongestAnswer)
	defer cancel()
	answer := new(frame)
	// Not WaitForReady: a dead node is told at once.
	if err := conn.Invoke(ctx, askMethod, &frame{head: kind, body: payload}, answer); err != nil {
		return nil, fmt.Errorf("ask %s for %s: %w", addr, kind, meaning(ctx, err))
	}
	if answer.head != "" {
		return nil, &Refusal{Word: answer.head, Text: string(answer.body)}
	}
	return answer.body, nil
}

// meaning of what gRPC says.
func meaning(ctx context.Context, err error) error {
	st := status.Convert(err)
	switch st.Code() {
	case codes.Unavailable:
		return fmt.Errorf("%w: %s", ErrUnreachable, st.Message())
	case codes.ResourceExhausted:
		return fmt.Errorf("%w: %s", ErrBusy, st.Message())
	case codes.Unimplemented:
		return ErrUnknownKind
	case codes.DeadlineExceeded, codes.Canceled:
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return context.DeadlineExceeded // the owner's clock ran ahead of ours
	default:
		return fmt.Errorf("%w: %s", ErrFailed, st.Message())
	}
}

func (c *Client) conn(addr string) (*grpc.ClientConn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, fmt.Errorf("%w: this client is closed", ErrUnreachable)
	}
	if conn, ok := c.conns[addr]; ok {
		return conn, nil
	}
	conn, err := grpc.NewClient("passthrough:///"+addr, c.options...)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	c.conns[addr] = conn
	return conn, nil
}

// Retain closes the connections to all but these addresses: who calls it with each new view
// leaves none behind.
func (c *Client) Retain(addrs []string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	for addr, conn := range c.conns {
		if !slices.Contains(addrs, addr) {
			errs = append(errs, conn.Close())
			delete(c.conns, addr)
		}
	}
	return errors.Join(errs...)
}

// Close ends all connections; questions under way fail.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	return c.Retain(nil)
}
