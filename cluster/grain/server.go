package grain

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime/debug"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
)

// Handler answers a question. A *Refusal reaches who asked as it is, of any other error only
// that there was one. It may be called from many goroutines, and its ctx always ends.
type Handler func(ctx context.Context, kind string, payload []byte) ([]byte, error)

const (
	// MaxBytes bounds a question and an answer.
	MaxBytes = 8 << 20
	// AtOnce bounds the questions that a server answers at a time, and those that a client
	// waits for; what is more is told to be busy. Nothing queues without bound.
	AtOnce = 1024
	// LongestAnswer is the deadline of a question that names none or a later one.
	LongestAnswer = 30 * time.Second

	perConnection = 256
	askMethod     = "/taximeter.Grain/Ask"
)

// ErrUnknownKind is a handler's answer to a kind that it does not know: the other node runs
// another version.
var ErrUnknownKind = errors.New("the node does not know this kind of question")

// Server answers other nodes.
type Server struct {
	handle Handler
	log    *slog.Logger
	rpc    *grpc.Server
	addr   string
	slots  chan struct{}
	served sync.WaitGroup
}

// NewServer listens and serves.
func NewServer(listen string, sec Security, h Handler, log *slog.Logger) (*Server, error) {
	creds, _, err := sec.credentials()
	if err != nil {
		return nil, fmt.Errorf("remote: %w", err)
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return nil, fmt.Errorf("remote: %w: stop what listens there, or choose another address", err)
	}
	s := &Server{handle: h, log: log, addr: l.Addr().String(), slots: make(chan struct{}, AtOnce)}
	s.rpc = grpc.NewServer(grpc.Creds(creds), grpc.ForceServerCodec(codec{}), grpc.MaxRecvMsgSize(MaxBytes), grpc.MaxSendMsgSize(MaxBytes),
		grpc.MaxConcurrentStreams(perConnection), grpc.MaxHeaderListSize(16<<10), grpc.ConnectionTimeout(5*time.Second),
		grpc.UnaryInterceptor(s.guard), grpc.StreamInterceptor(noStreams),
		// A peer that vanished without a word is noticed, one that pings too often is cut off.
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 20 * time.Second, Timeout: 5 * time.Second, MaxConnectionIdle: 10 * time.Minute}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: keepaliveEvery / 2, PermitWithoutStream: true}))
	s.rpc.RegisterService(&service, s)
	s.served.Go(func() {
		if err := s.rpc.Serve(l); err != nil {
			log.Error("remote server ended", "err", err)
		}
	})
	return s, nil
}

// Addr is where it listens.
func (s *Server) Addr() string { return s.addr }

// Close answers what was asked, as far as ctx allows, and takes no more.
func (s *Server) Close(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		s.rpc.GracefulStop()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		s.rpc.Stop() // ends GracefulStop, too
		<-done
	}
	s.served.Wait()
}

type asked interface {
	ask(ctx context.Context, q *frame) (*frame, error)
}

// service is what protoc would write for a service of one method.
var service = grpc.ServiceDesc{ServiceName: "taximeter.Grain", HandlerType: (*asked)(nil), Methods: []grpc.MethodDesc{{MethodName: "Ask",
	Handler: func(srv any, ctx context.Context, decode func(any) error, guard grpc.UnaryServerInterceptor) (any, error) {
		q := new(frame)
		if err := decode(q); err != nil {
			return nil, status.Error(codes.InvalidArgument, errFrame.Error())
		}
		return guard(ctx, q, &grpc.UnaryServerInfo{Server: srv, FullMethod: askMethod}, func(ctx context.Context, q any) (any, error) {
			return srv.(asked).ask(ctx, q.(*frame))
		})
	}}}}

// guard bounds the work and turns a panic into an answer: without it one question could end
// the process.
func (s *Server) guard(ctx context.Context, q any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (answer any, err error) {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	default:
		return nil, status.Error(codes.ResourceExhausted, "too many questions at once")
	}
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("a question caused a panic", "kind", q.(*frame).head, "panic", p, "stack", string(debug.Stack()))
			answer, err = nil, status.Error(codes.Internal, "the question caused a panic")
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, LongestAnswer)
	defer cancel()
	return next(ctx, q)
}

// noStreams: nobody of ours opens any.
func noStreams(any, grpc.ServerStream, *grpc.StreamServerInfo, grpc.StreamHandler) error {
	return status.Error(codes.Unimplemented, "no streams here")
}

func (s *Server) ask(ctx context.Context, q *frame) (*frame, error) {
	body, err := s.handle(ctx, q.head, q.body)
	var refusal *Refusal
	switch {
	case err == nil:
		return &frame{body: body}, nil
	case errors.As(err, &refusal) && refusal.Word != "":
		return &frame{head: refusal.Word, body: []byte(refusal.Text)}, nil
	case errors.Is(err, ErrUnknownKind):
		return nil, status.Error(codes.Unimplemented, q.head)
	case ctx.Err() != nil:
		return nil, status.FromContextError(ctx.Err()).Err()
	default:
		s.log.Warn("question not answered", "kind", q.head, "err", err)
		return nil, status.Error(codes.Internal, "the owner failed to answer; its log says why")
	}
}
