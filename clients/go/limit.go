package kvs

import (
	"context"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"
)

// limit remembers until when the gateway refuses this table, so that a burst costs it one refusal for each connection
// rather than one for each call.
type limit struct {
	mutex   sync.Mutex
	until   time.Time
	refused Error
}

// close is called with each 429; of several, the one that lasts longest counts.
func (l *limit) close(now time.Time, refused *Error) {
	if !refused.isTold {
		return
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if until := now.Add(refused.RetryAfter); until.After(l.until) {
		l.until, l.refused = until, *refused
	}
}

// refusal is the last one as it would be told now, or nil if the limit may have room.
func (l *limit) refusal(now time.Time) *Error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if !now.Before(l.until) {
		return nil
	}
	refused := l.refused
	refused.RetryAfter = l.until.Sub(now)
	return &refused
}

// backoff is exponential, with full jitter.
type backoff struct{ base, cap time.Duration }

// pause before a repetition (from 0), and whether the deadline leaves time for it.
//
// Those who were told the same Retry-After would come back at one instant, so each adds a random part. If that alone
// does not fit before the deadline, it is halved into what is left.
func (b backoff) pause(ctx context.Context, repetition int, failure *Error) (time.Duration, bool) {
	left := time.Duration(1<<63 - 1)
	if deadline, bounded := ctx.Deadline(); bounded {
		left = time.Until(deadline)
	}
	if told := failure.RetryAfter; failure.isTold {
		pause := told + rand.N(b.cap)
		if pause >= left {
			pause = told + (left-told)/2
		}
		return pause, told < left
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
