package kvs

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"golang.org/x/sync/singleflight"
)

// table is the state that all clients of a table share.
type table struct {
	name        string
	signer      *signer
	connections *connections
	gate        rateLimitGate
	backoff     backoff
	attemptTime time.Duration
	answers     answers
	flights     singleflight.Group
}

func openTable(ctx context.Context, name string, chosen *settings) (*table, error) {
	address, err := readEndpoint(name, chosen.variablePrefix, chosen.environment)
	if err != nil {
		return nil, err
	}
	signer, err := newSigner(ctx, address, chosen.credentials)
	if err != nil {
		return nil, err
	}
	return &table{
		name:        name,
		signer:      signer,
		connections: newConnections(newDialer(address.url), chosen.connections),
		backoff:     chosen.backoff,
		attemptTime: chosen.attempt,
		answers:     answers{chosen.answerBytes, address.token},
	}, nil
}

func (t *table) close() { t.connections.close() }

// call retries an operation until it gets a final answer, or the deadline leaves no time for another attempt.
func (t *table) call(ctx context.Context, operation string, body []byte) ([]byte, *Error) {
	for repetition := 0; ; repetition++ {
		answer, failure := t.take(ctx, operation, body)
		if failure == nil {
			return answer, nil
		}
		if !failure.isRepeatable() {
			return nil, failure
		}
		pause, fits := t.backoff.pause(ctx, repetition, failure)
		if !fits {
			return nil, failure
		}
		if failure := t.connections.pause(ctx, pause); failure != nil {
			return nil, failure
		}
	}
}

// take takes a connection and makes one attempt, unless the gate is closed. It checks the gate after the wait for the
// connection, as another call may have closed it meanwhile.
func (t *table) take(ctx context.Context, operation string, body []byte) ([]byte, *Error) {
	if failure := t.connections.acquire(ctx); failure != nil {
		return nil, failure
	}
	defer t.connections.release()
	if refusal := t.gate.refusal(time.Now()); refusal != nil {
		return nil, refusal
	}
	credentials, failure := t.signer.retrieve(ctx)
	if failure != nil {
		return nil, failure
	}
	request, failure := t.signer.request(operation, body, credentials)
	if failure != nil {
		return nil, failure
	}
	found, err := t.connections.exchange(ctx, time.Now().Add(t.attemptTime), request, t.answers.read)
	if err != nil {
		return nil, t.unanswered(ctx, err)
	}
	if found.refusal != nil && found.refusal.Status == http.StatusTooManyRequests {
		t.gate.close(time.Now(), found.refusal)
	}
	return found.body, found.refusal
}

func (t *table) unanswered(ctx context.Context, err error) *Error {
	switch {
	case t.connections.isClosed():
		return closed()
	case ctx.Err() != nil || isOver(ctx):
		return ended(ctx)
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return unanswered(fmt.Sprintf("no answer within %v", t.attemptTime))
	default:
		return unanswered(whyUnanswered(err))
	}
}

// isOver may be true a moment before the context ends: deadlines of connections have their own timers.
func isOver(ctx context.Context) bool {
	deadline, bounded := ctx.Deadline()
	return bounded && !time.Now().Before(deadline)
}
