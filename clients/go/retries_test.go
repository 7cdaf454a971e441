package kvs

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

func limited(seconds int) *Error {
	return &Error{Status: http.StatusTooManyRequests, RetryAfter: time.Duration(seconds) * time.Second, hasRetryAfter: true, kind: ErrRateLimited}
}

func TestPausesAreRandomBelowABoundThatDoublesUpToTheCap(t *testing.T) {
	backoff := backoff{base: 100 * time.Millisecond, cap: time.Second}
	longest := []time.Duration{100, 200, 400, 800, 1000, 1000}
	for repetition, milliseconds := range append(longest, longest[5]) {
		seen := map[time.Duration]bool{}
		for range 1000 {
			pause, fits := backoff.pause(context.Background(), repetition, unanswered(""))
			if !fits || pause < 0 || pause > milliseconds*time.Millisecond {
				t.Fatal(repetition, pause)
			}
			seen[pause] = true
		}
		if len(seen) < 500 {
			t.Error("pauses are not random")
		}
	}
	if pause, fits := backoff.pause(context.Background(), 1_000_000, unanswered("")); !fits || pause > time.Second {
		t.Error(pause)
	}
}

func TestRandomPartIsAddedToRetryAfter(t *testing.T) {
	backoff := backoff{base: 100 * time.Millisecond, cap: time.Second}
	early, late := 0, 0
	for range 1000 {
		pause, _ := backoff.pause(context.Background(), 0, limited(5))
		if pause < 5*time.Second || pause >= 6*time.Second {
			t.Fatal(pause)
		}
		if pause < 5500*time.Millisecond {
			early++
		} else {
			late++
		}
	}
	if early < 350 || late < 350 {
		t.Error(early, late)
	}
}

func TestPauseEndsBeforeTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5100*time.Millisecond)
		defer cancel()
		backoff := backoff{base: time.Second, cap: time.Hour}
		if pause, fits := backoff.pause(ctx, 0, limited(5)); !fits || pause != 5050*time.Millisecond {
			t.Error(pause, fits)
		}
		if _, fits := backoff.pause(ctx, 0, limited(6)); fits {
			t.Error("a pause that ends after the deadline")
		}
	})
}

func TestGateIsClosedUntilRetryAfterHasPassed(t *testing.T) {
	var gate rateLimitGate
	now := time.Now()
	gate.close(now, limited(10))
	gate.close(now, limited(5))
	if refusal := gate.refusal(now.Add(4 * time.Second)); refusal == nil || refusal.RetryAfter != 6*time.Second {
		t.Error(refusal)
	}
	if refusal := gate.refusal(now.Add(10 * time.Second)); refusal != nil {
		t.Error(refusal)
	}
}
