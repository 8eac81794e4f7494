package grain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

const patience = 20 * time.Second

func serve(t *testing.T, sec Security, h Handler) *Server {
	t.Helper()
	s, err := NewServer("127.0.0.1:0", sec, h, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		s.Close(ctx)
	})
	return s
}

func client(t *testing.T, sec Security) *Client {
	t.Helper()
	c, err := NewClient(sec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// echo answers by the kind of question.
func echo(ctx context.Context, kind string, payload []byte) ([]byte, error) {
	switch kind {
	case "echo":
		return payload, nil
	case "moving":
		return nil, fmt.Errorf("partition 3: %w", &Refusal{Word: "moving", Text: "partition 3 is moving to node b"})
	case "panic":
		panic("on purpose")
	case "fail":
		return nil, errors.New("secret of the house")
	case "large":
		return make([]byte, MaxBytes+1), nil
	case "wait":
		<-ctx.Done()
		return nil, ctx.Err()
	default:
		return nil, ErrUnknownKind
	}
}

func TestEachOutcomeIsTold(t *testing.T) {
	s, c := serve(t, Security{}, echo), client(t, Security{})
	payload := bytes.Repeat([]byte("x"), 5<<20)
	if got, err := c.Ask(within(t, patience), s.Addr(), "echo", payload); err != nil || !bytes.Equal(got, payload) {
		t.Errorf("5 MB came back as %d bytes, %v", len(got), err)
	}
	if got, err := c.Ask(within(t, patience), s.Addr(), "echo", nil); err != nil || len(got) != 0 {
		t.Errorf("nothing came back as %q, %v", got, err)
	}
	var refusal *Refusal
	_, err := c.Ask(within(t, patience), s.Addr(), "moving", nil)
	if !errors.As(err, &refusal) || *refusal != (Refusal{Word: "moving", Text: "partition 3 is moving to node b"}) {
		t.Errorf("the refusal arrived as %v", err)
	}
	for kind, want := range map[string]error{"panic": ErrFailed, "fail": ErrFailed, "large": ErrBusy, "never heard of": ErrUnknownKind} {
		_, err := c.Ask(within(t, patience), s.Addr(), kind, nil)
		if !errors.Is(err, want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %v", kind, err, want)
		}
	}
	if _, err := c.Ask(within(t, patience), s.Addr(), strings.Repeat("k", maxHead+1), nil); err == nil {
		t.Error("a kind without bound was sent")
	}
	if _, err := c.Ask(within(t, 100*time.Millisecond), s.Addr(), "wait", nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the deadline ended as %v", err)
	}
	ctx, cancel := context.WithCancel(within(t, patience))
	cancel()
	if _, err := c.Ask(ctx, s.Addr(), "echo", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a question withdrawn ended as %v", err)
	}
}

func TestADeadNodeIsToldAtOnceAndLeavesNothingBehind(t *testing.T) {
	c := client(t, Security{})
	dead := deadAddrs(t, 20)
	before := runtime.NumGoroutine()
	began := time.Now()
	for _, addr := range dead {
		if _, err := c.Ask(within(t, patience), addr, "echo", nil); !errors.Is(err, ErrUnreachable) {
			t.Fatalf("%s: %v", addr, err)
		}
	}
	if took := time.Since(began); took > patience/4 {
		t.Errorf("%d dead nodes took %s", len(dead), took)
	}
	if err := c.Retain(nil); err != nil {
		t.Error(err)
	}
	for deadline := time.Now().Add(patience); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines before, %d after", before, runtime.NumGoroutine())
		}
	}
}

func deadAddrs(t *testing.T, n int) (addrs []string) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		addrs = append(addrs, l.Addr().String())
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return addrs
}

func TestANodeThatDiesMeanwhileIsUnreachableAndThenAskedAgain(t *testing.T) {
	asked := make(chan struct{})
	s := serve(t, Security{}, func(ctx context.Context, _ string, _ []byte) ([]byte, error) {
		close(asked)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	c := client(t, Security{})
	failed := make(chan error, 1)
	go func() {
		_, err := c.Ask(within(t, patience), s.Addr(), "wait", nil)
		failed <- err
	}()
	<-asked
	s.Close(expired())
	if err := <-failed; !errors.Is(err, ErrUnreachable) {
		t.Fatalf("a node that died: %v", err)
	}
	again, err := NewServer(s.Addr(), Security{}, echo, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close(expired())
	ctx := within(t, patience)
	for {
		if _, err = c.Ask(ctx, s.Addr(), "echo", nil); err == nil {
			return
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("the node is back and not asked: %v", err)
		}
	}
}

func expired() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func TestAnAddressThatAnswersNothingEndsWithTheDeadline(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	c := client(t, Security{})
	began := time.Now()
	_, err = c.Ask(within(t, 300*time.Millisecond), l.Addr().String(), "echo", nil)
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > patience/4 {
		t.Errorf("after %s: %v", time.Since(began), err)
	}
}

func TestMoreAtOnceThanAServerTakesIsBusy(t *testing.T) {
	s := serve(t, Security{}, echo)
	for range AtOnce {
		s.slots <- struct{}{}
	}
	c := client(t, Security{})
	if _, err := c.Ask(within(t, patience), s.Addr(), "echo", nil); !errors.Is(err, ErrBusy) {
		t.Errorf("a full server: %v", err)
	}
	<-s.slots
	if _, err := c.Ask(within(t, patience), s.Addr(), "panic", nil); !errors.Is(err, ErrFailed) {
		t.Errorf("one slot: %v", err)
	}
	if _, err := c.Ask(within(t, patience), s.Addr(), "echo", nil); err != nil {
		t.Errorf("a panic kept its slot: %v", err)
	}
	for range AtOnce {
		c.slots <- struct{}{}
	}
	if _, err := c.Ask(within(t, patience), s.Addr(), "echo", nil); !errors.Is(err, ErrBusy) {
		t.Errorf("a full client: %v", err)
	}
}

func TestStrangersDoNoHarm(t *testing.T) {
	s := serve(t, Security{}, echo)
	preface := []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
	settings := []byte{0, 0, 0, 4, 0, 0, 0, 0, 0}
	for name, junk := range map[string][]byte{
		"noise":               bytes.Repeat([]byte{0xde, 0xad, 0xbe, 0xef}, 4096),
		"HTTP/1":              []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
		"a huge frame":        append(bytes.Clone(preface), 0xff, 0xff, 0xff, 1, 5, 0, 0, 0, 1),
		"data on no stream":   append(append(bytes.Clone(preface), settings...), 0, 0, 4, 0, 1, 0, 0, 0, 7, 1, 2, 3, 4),
		"headers of garbage":  append(append(bytes.Clone(preface), settings...), 0, 0, 4, 1, 4, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff),
		"a preface, no words": preface,
	} {
		conn, err := net.Dial("tcp", s.Addr())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		_, _ = conn.Write(junk) // the server may hang up before it has all
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
	conn, err := grpc.NewClient(s.Addr(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	for _, envelope := range [][]byte{nil, {1}, {2, 0}, {1, 0xff}, {1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, {1, 60, 'x'}, make([]byte, MaxBytes+1)} {
		for _, method := range []string{askMethod, "/remote.Remoting/ListProcesses", "/taximeter.Grain/Other", "/x"} {
			var answer []byte
			if err := conn.Invoke(within(t, patience), method, &envelope, &answer, grpc.ForceCodec(raw{})); err == nil {
				t.Errorf("%d bad bytes to %s were answered", len(envelope), method)
			}
		}
	}
	stream, err := conn.NewStream(within(t, patience), &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, "/remote.Remoting/Receive", grpc.ForceCodec(raw{}))
	if err == nil {
		err = stream.RecvMsg(new([]byte))
	}
	if err == nil {
		t.Error("a stream was opened")
	}
	if got, err := client(t, Security{}).Ask(within(t, patience), s.Addr(), "echo", []byte("still here")); err != nil || string(got) != "still here" {
		t.Errorf("after the strangers: %q, %v", got, err)
	}
}

// raw sends bytes as they are.
type raw struct{}

func (raw) Name() string                    { return "taximeter" }
func (raw) Marshal(v any) ([]byte, error)   { return *v.(*[]byte), nil }
func (raw) Unmarshal(b []byte, v any) error { *v.(*[]byte) = b; return nil }

func TestManyAskAtOnce(t *testing.T) {
	s, c := serve(t, Security{}, echo), client(t, Security{})
	var asking sync.WaitGroup
	for i := range 64 {
		asking.Go(func() {
			for j := range 20 {
				want := fmt.Sprint(i, j)
				if got, err := c.Ask(within(t, patience), s.Addr(), "echo", []byte(want)); err != nil || string(got) != want {
					t.Errorf("asked %s, heard %q, %v", want, got, err)
				}
			}
		})
	}
	asking.Wait()
}

func FuzzFrame(f *testing.F) {
	f.Add([]byte{1, 2, 'a', 'b', 'c'})
	f.Add([]byte{1, 0})
	f.Add([]byte{1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		var got, again frame
		if got.unmarshal(data) != nil {
			return
		}
		wire, err := got.marshal()
		if err != nil {
			t.Fatal(err)
		}
		if err := again.unmarshal(wire); err != nil || again.head != got.head || !bytes.Equal(again.body, got.body) {
			t.Fatalf("%q %q became %q %q, %v", got.head, got.body, again.head, again.body, err)
		}
	})
}

func BenchmarkAsk(b *testing.B) {
	s, err := NewServer("127.0.0.1:0", Security{}, echo, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close(expired())
	c, err := NewClient(Security{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	for b.Loop() {
		if _, err := c.Ask(b.Context(), s.Addr(), "echo", []byte("question")); err != nil {
			b.Fatal(err)
		}
	}
}
