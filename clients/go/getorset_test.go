package kvs_test

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"example.com/kvs"
)

// missing has no entry, counts puts and takes them.
func missing(puts *atomic.Int64) http.HandlerFunc {
	return func(response http.ResponseWriter, request *http.Request) {
		if request.URL.Path == "/v1/put" {
			puts.Add(1)
			answer(http.StatusOK, `{"ok":true}`)(response, request)
			return
		}
		answer(http.StatusOK, `{"found":false,"expiresAt":null}`)(response, request)
	}
}

func TestCancellingOneWaiterDoesNotAffectTheOthers(t *testing.T) {
	var puts atomic.Int64
	client := open(t, missing(&puts))
	leaving, leave := context.WithCancel(t.Context())
	entered, proceed := make(chan struct{}), make(chan struct{})
	left := make(chan error)
	go func() {
		_, err := kvs.GetOrSet(leaving, client, "k", kvs.NoExpiry, func(ctx context.Context) ([]int, error) {
			close(entered)
			<-proceed
			return []int{1}, ctx.Err()
		})
		left <- err
	}()
	<-entered
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	results := make(chan []int)
	for range 2 {
		go func() {
			value, err := kvs.GetOrSet(t.Context(), client, "k", kvs.NoExpiry, func(context.Context) ([]int, error) { return []int{1}, nil })
			if err != nil {
				t.Error(err)
			}
			results <- value
		}()
	}
	close(proceed)
	one, other := <-results, <-results
	one[0] = 2
	if other[0] != 1 || puts.Load() == 0 {
		t.Error("those who wait share one slice")
	}
}

func TestErrorOfProduceIsReturnedUnchanged(t *testing.T) {
	var puts atomic.Int64
	broken := errors.New("broken")
	_, err := kvs.GetOrSet(t.Context(), open(t, missing(&puts)), "k", kvs.NoExpiry, func(context.Context) (int, error) { return 0, broken })
	if err != broken || puts.Load() != 0 { //nolint:errorlint // the very same
		t.Error(err, puts.Load())
	}
}

func TestPanicOfProduceReachesTheCaller(t *testing.T) {
	var puts atomic.Int64
	client := open(t, missing(&puts))
	defer func() {
		if reason := recover(); reason == nil {
			t.Error("there was no panic")
		}
	}()
	_, _ = kvs.GetOrSet(t.Context(), client, "k", kvs.NoExpiry, func(context.Context) (int, error) { panic("broken") })
}

func TestValueThatCannotBePutIsAnError(t *testing.T) {
	client := open(t, func(response http.ResponseWriter, request *http.Request) {
		if request.URL.Path == "/v1/put" {
			answer(http.StatusBadRequest, `{"error":"invalid_value"}`)(response, request)
			return
		}
		answer(http.StatusOK, `{"found":false,"expiresAt":null}`)(response, request)
	})
	_, err := kvs.GetOrSet(t.Context(), client, "k", kvs.NoExpiry, func(context.Context) (int, error) { return 1, nil })
	if !errors.Is(err, kvs.ErrInvalidRequest) {
		t.Error(err)
	}
}

func TestEveryWaiterGetsAnErrorIfProduceEndsItsGoroutine(t *testing.T) {
	var puts atomic.Int64
	client := open(t, missing(&puts))
	ended := make(chan error, 1)
	go func() {
		_, err := kvs.GetOrSet(context.Background(), client, "k", kvs.NoExpiry, func(context.Context) (int, error) {
			runtime.Goexit()
			return 1, nil
		})
		ended <- err
	}()
	select {
	case err := <-ended:
		if err == nil || puts.Load() != 0 {
			t.Error(err, puts.Load())
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("the caller waits for ever")
	}
}
