package kvs

import (
	"context"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"
)

// rateLimitGate is closed after a 429 until its Retry-After has passed: a burst costs the gateway one refusal per
// connection rather than one per call.
type rateLimitGate struct {
	mutex   sync.Mutex
	until   time.Time
	refused Error
}

// close is called with each 429; the longest Retry-After counts.
func (g *rateLimitGate) close(now time.Time, refused *Error) {
	if !refused.hasRetryAfter {
		return
	}
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if until := now.Add(refused.RetryAfter); until.After(g.until) {
		g.until, g.refused = until, *refused
	}
}

// refusal returns the refusal that a request would get now, or nil while the gate is open.
func (g *rateLimitGate) refusal(now time.Time) *Error {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if !now.Before(g.until) {
		return nil
	}
	refused := g.refused
	refused.RetryAfter = g.until.Sub(now)
	return &refused
}

// backoff is exponential with full jitter.
type backoff struct{ base, cap time.Duration }

// pause returns the pause before a retry (counted from 0), and whether the deadline leaves time for it.
//
// A random part is added to Retry-After, so that clients that got the same one do not all retry at once. If only that
// part passes the deadline, it is replaced by half of the time left.
func (b backoff) pause(ctx context.Context, repetition int, failure *Error) (time.Duration, bool) {
	left := time.Duration(1<<63 - 1)
	if deadline, bounded := ctx.Deadline(); bounded {
		left = time.Until(deadline)
	}
	if retryAfter := failure.RetryAfter; failure.hasRetryAfter {
		pause := retryAfter + rand.N(b.cap)
		if pause >= left {
			pause = retryAfter + (left-retryAfter)/2
		}
		return pause, retryAfter < left
	}
	longest := b.cap
	if doubled := b.base << min(repetition, 30); doubled > 0 && doubled < b.cap {
		longest = doubled
	}
	pause := rand.N(longest)
	return pause, pause < left
}

func (e *Error) isRepeatable() bool {
	switch e.Status {
	case 0:
		return e.Code == codeNoAnswer
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	default:
		return false
	}
}
