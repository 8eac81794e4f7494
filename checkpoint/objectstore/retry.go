package objectstore

import (
	"context"
	"crypto/tls"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// Waits between tries double from firstWait to longestWait, each drawn evenly from its
// upper half, so that nodes hit by one outage do not come back in step.
const (
	firstWait   = 50 * time.Millisecond
	longestWait = 2 * time.Second
)

// try calls once until it succeeds, fails for good, or the budget or ctx is used up. Each
// try is dropped after limit (0 = never: its result outlives it).
//
// A write that is tried again may already have happened: conditional puts then report that
// their condition failed, and their callers compare what lies there.
func (s *S3) try(ctx context.Context, limit time.Duration, once func(context.Context) error) error {
	deadline := time.Now().Add(s.cfg.Budget + limit)
	for wait := firstWait; ; wait = min(2*wait, longestWait) {
		err := attempt(ctx, limit, once)
		if err == nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		pause := wait/2 + rand.N(wait/2)
		if !retryable(err) || time.Now().Add(pause).After(deadline) {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return errors.Join(err, ctx.Err())
		case <-timer.C:
		}
	}
}

func attempt(ctx context.Context, limit time.Duration, once func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	return once(ctx)
}

// status is the HTTP status of a failed call; 0 if it had no answer.
func status(err error) int {
	var r *smithyhttp.ResponseError
	if errors.As(err, &r) && r.Response != nil && r.Response.Response != nil {
		return r.HTTPStatusCode()
	}
	return 0
}

// retryable says whether the same call may succeed in a moment.
func retryable(err error) bool {
	var certificate *tls.CertificateVerificationError
	if errors.As(err, &certificate) {
		return false // somebody must mend the certificate or the trust
	}
	switch code := status(err); {
	case code == 0:
		// No answer: refused, reset, timed out, name not found (a restarting DNS says that too).
		// But a request that we could not even build will not fare better.
		var built *smithy.SerializationError
		return !errors.As(err, &built)
	case code >= 500 && code != http.StatusNotImplemented:
		return true // the server's trouble, and 503 SlowDown is its plea to come later
	case code == http.StatusTooManyRequests:
		return true // the same plea of other servers
	case code == http.StatusConflict:
		return true // a racing conditional put is under way: who won is known in a moment
	case code == http.StatusRequestTimeout:
		return true // our bytes came too slowly for it
	}
	// 400 is final but for the same slowness in AWS's words; 401 and 403 need a person; 404
	// and 412 are answers.
	var api smithy.APIError
	return errors.As(err, &api) && api.ErrorCode() == "RequestTimeout"
}
