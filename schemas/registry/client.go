package registry

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/sr"
)

var (
	// ErrNotFound: the registry answered that it has no such id, subject or version.
	ErrNotFound = errors.New("not in the schema registry")
	// ErrRefused: the registry answered, or we know, that this will never be accepted.
	ErrRefused = errors.New("refused")
)

// Unavailable reports whether err leaves the question open, so that asking again later
// may help: no connection, a timeout, a server error, no permission, a foreign answer.
func Unavailable(err error) bool {
	return err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrRefused)
}

// ClientConfig says where the registry is.
type ClientConfig struct {
	URLs      []string          // tried in order
	Timeout   time.Duration     // of one request to one URL; 0 = 5 s
	Transport http.RoundTripper // TLS, authentication; nil = http.DefaultTransport
}

// Client asks a schema registry. It is safe for concurrent use and remembers what can
// never change.
type Client struct {
	sr *sr.Client

	mu   sync.RWMutex
	byID map[int]string // guarded by mu
}

// NewClient does not connect.
func NewClient(cfg ClientConfig) (*Client, error) {
	if cfg.Timeout == 0 {
		cfg.Timeout = 5 * time.Second
	}
	opts := []sr.ClientOpt{
		sr.URLs(cfg.URLs...), sr.UserAgent("taximeter"),
		sr.HTTPClient(&http.Client{Timeout: cfg.Timeout, Transport: cfg.Transport}),
	}
	c, err := sr.NewClient(opts...)
	if err != nil {
		return nil, fmt.Errorf("schema registry client: %w", err)
	}
	return &Client{sr: c, byID: make(map[int]string)}, nil
}

// SchemaByID is the text of the Avro schema with that id.
func (c *Client) SchemaByID(ctx context.Context, id int) (string, error) {
	c.mu.RLock()
	text, ok := c.byID[id]
	c.mu.RUnlock()
	if ok {
		return text, nil
	}
	s, err := c.sr.SchemaByID(ctx, id)
	if err == nil {
		err = onlyAvro(s)
	}
	if err != nil {
		return "", fmt.Errorf("schema id %d: %w", id, classify(err, sr.ErrSchemaNotFound))
	}
	c.mu.Lock()
	c.byID[id] = s.Schema
	c.mu.Unlock()
	return s.Schema, nil
}

// Register makes the Avro schema a version of the subject, unless it is one already, and
// returns its id.
func (c *Client) Register(ctx context.Context, subject, schema string) (int, error) {
	id, err := c.sr.RegisterSchema(ctx, subject, sr.Schema{Schema: schema}, -1, -1)
	if err != nil {
		return 0, fmt.Errorf("register schema of subject %q: %w", subject, classify(err))
	}
	return id, nil
}

func onlyAvro(s sr.Schema) error {
	if s.Type != sr.TypeAvro {
		return fmt.Errorf("%w: it is of type %s and taximeter reads only Avro", ErrRefused, s.Type)
	}
	if len(s.References) > 0 {
		return fmt.Errorf("%w: it cites other schemas, which taximeter does not follow", ErrRefused)
	}
	return nil
}

// classify adds ErrNotFound or ErrRefused to what the registry itself said.
func classify(err error, notFound ...*sr.Error) error {
	var answer *sr.ResponseError
	if !errors.As(err, &answer) {
		return err
	}
	if slices.Contains(notFound, answer.SchemaError()) {
		return fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	if answer.StatusCode == http.StatusConflict || answer.StatusCode == http.StatusUnprocessableEntity {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return err
}
