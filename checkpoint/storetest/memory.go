package storetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"taximeter/checkpoint"
)

// Memory is a Store in memory, safe for concurrent use.
type Memory struct {
	mu      sync.Mutex // guards objects
	objects map[string][]byte
}

func NewMemory() *Memory { return &Memory{objects: make(map[string][]byte)} }

// Keys lists what is stored, sorted.
func (m *Memory) Keys() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.objects))
}

func tag(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func (m *Memory) write(ctx context.Context, key string, body io.Reader, allowed func(old []byte, exists bool) bool) (checkpoint.Written, error) {
	if err := ctx.Err(); err != nil {
		return checkpoint.Written{}, fmt.Errorf("put %s: %w", key, err)
	}
	data, err := io.ReadAll(body)
	if err != nil {
		return checkpoint.Written{}, fmt.Errorf("put %s: %w", key, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if old, exists := m.objects[key]; !allowed(old, exists) {
		return checkpoint.Written{}, nil
	}
	m.objects[key] = data
	return checkpoint.Written{Stored: true, ETag: tag(data)}, nil
}

func (m *Memory) Put(ctx context.Context, key string, body io.ReadSeeker) error {
	_, err := m.write(ctx, key, body, func([]byte, bool) bool { return true })
	return err
}

func (m *Memory) PutIfAbsent(ctx context.Context, key string, body io.ReadSeeker) (checkpoint.Written, error) {
	return m.write(ctx, key, body, func(_ []byte, exists bool) bool { return !exists })
}

func (m *Memory) PutIfMatch(ctx context.Context, key, etag string, body io.ReadSeeker) (checkpoint.Written, error) {
	if etag == "" {
		return checkpoint.Written{}, fmt.Errorf("put %s if match: no tag given", key)
	}
	return m.write(ctx, key, body, func(old []byte, exists bool) bool { return exists && tag(old) == etag })
}

func (m *Memory) get(ctx context.Context, key string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("get %s: %w", key, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	data, ok := m.objects[key]
	if !ok {
		return nil, fmt.Errorf("get %s: %w", key, checkpoint.ErrNotFound)
	}
	return data, nil
}

func (m *Memory) Get(ctx context.Context, key string) (checkpoint.Object, error) {
	data, err := m.get(ctx, key)
	if err != nil {
		return checkpoint.Object{}, err
	}
	return checkpoint.Object{Info: checkpoint.Info{Key: key, Size: int64(len(data))}, ETag: tag(data), Body: io.NopCloser(bytes.NewReader(data))}, nil
}

func (m *Memory) Stat(ctx context.Context, key string) (checkpoint.Info, error) {
	data, err := m.get(ctx, key)
	return checkpoint.Info{Key: key, Size: int64(len(data))}, err
}

func (m *Memory) List(ctx context.Context, prefix, after string) iter.Seq2[checkpoint.Info, error] {
	return func(yield func(checkpoint.Info, error) bool) {
		for _, key := range m.Keys() {
			if !strings.HasPrefix(key, prefix) || key <= after {
				continue
			}
			info, err := m.Stat(ctx, key)
			if err != nil && ctx.Err() == nil {
				continue // deleted since
			}
			if !yield(info, err) || err != nil {
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(checkpoint.Info{}, fmt.Errorf("list %s: %w", prefix, err))
		}
	}
}

func (m *Memory) Delete(ctx context.Context, key string) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("delete %s: %w", key, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.objects, key)
	return nil
}
