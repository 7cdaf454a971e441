package kvs_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"example.com/kvs"
)

// recorded answers puts and keeps the body of the last one.
func recorded(body *string) http.HandlerFunc {
	return func(response http.ResponseWriter, request *http.Request) {
		sent, _ := io.ReadAll(request.Body)
		*body = string(sent)
		answer(http.StatusOK, `{"ok":true}`)(response, request)
	}
}

func TestPutBodyIsThatOfEncodingJSONWithoutEscapesForHTML(t *testing.T) {
	var body string
	client := open(t, recorded(&body))
	for _, each := range []struct {
		key   string
		value any
		ttl   time.Duration
		want  string
	}{
		{"k", map[string]int{"n": 1}, kvs.NoExpiry, `{"key":"k","value":{"n":1}}`},
		{"ü\"\\\n", "<&>", time.Minute, `{"key":"ü\"\\\n","value":"<&>","ttlSeconds":60}`},
		{"k", json.RawMessage(` { "a" : 1.0 } `), time.Minute + 999*time.Millisecond, `{"key":"k","value": { "a" : 1.0 } ,"ttlSeconds":60}`},
		{"k", nil, time.Millisecond, `{"key":"k","value":null,"ttlSeconds":0}`},
		{"k", int64(math.MaxInt64), -time.Minute, `{"key":"k","value":9223372036854775807,"ttlSeconds":-60}`},
	} {
		if err := client.Put(t.Context(), each.key, each.value, each.ttl); err != nil || body != each.want {
			t.Errorf("%s instead of %s, %v", body, each.want, err)
		}
	}
}

func TestPrefixesAreConcatenated(t *testing.T) {
	var body string
	client := open(t, recorded(&body), kvs.WithPrefix("a:")).WithPrefix("b:")
	if err := client.Put(t.Context(), "k", 1, kvs.NoExpiry); err != nil || !strings.Contains(body, `"key":"a:b:k"`) {
		t.Error(body, err)
	}
}

func TestKeyThatIsNotUTF8IsRefused(t *testing.T) {
	client := open(t, func(http.ResponseWriter, *http.Request) { t.Error("it was sent") })
	_, got := client.GetRaw(t.Context(), "k\xff")
	for _, err := range []error{
		got, client.Put(t.Context(), "k\xff", 1, kvs.NoExpiry), client.Delete(t.Context(), "k\xff"),
	} {
		if !errors.Is(err, kvs.ErrInvalidRequest) || !strings.Contains(err.Error(), "invalid_key") {
			t.Error(err)
		}
	}
}

func TestValueIsDecodedIntoAnyType(t *testing.T) {
	for sent, into := range map[string]any{
		`{"n":9007199254740993}`:    &struct{ N int64 }{9007199254740993},
		`123456789012345678901.50`:  ptr(json.Number("123456789012345678901.50")),
		` [1.0, 2e3] `:              ptr(json.RawMessage(`[1.0, 2e3]`)),
		`"}\",\"expiresAt\":null}"`: ptr(`}","expiresAt":null}`),
		`null`:                      ptr[any](nil),
	} {
		read := reflect.New(reflect.TypeOf(into).Elem()).Interface()
		entry, err := open(t, kept(sent)).Get(t.Context(), "k", read)
		if err != nil || !entry.Found || !reflect.DeepEqual(read, into) {
			t.Errorf("%s: %v, %v", sent, read, err)
		}
		if string(entry.Value) != strings.TrimSpace(sent) {
			t.Errorf("%q instead of %q", entry.Value, sent)
		}
	}
}

func ptr[T any](value T) *T { return &value }

func TestValueThatDoesNotFitIsErrDecode(t *testing.T) {
	_, err := open(t, kept(`"text"`)).Get(t.Context(), "k", new(int))
	if !errors.Is(err, kvs.ErrDecode) {
		t.Error(err)
	}
}

func TestAnswerInAnotherLayoutIsAccepted(t *testing.T) {
	client := open(t, answer(http.StatusOK,
		` { "new": [], "expiresAt" : "2099-01-01T00:00:00.500Z", "value" : [ 1 ] , "found" : true } `))
	entry, err := client.GetRaw(t.Context(), "k")
	want := time.Date(2099, 1, 1, 0, 0, 0, 500_000_000, time.UTC)
	if err != nil || string(entry.Value) != "[ 1 ]" || !entry.ExpiresAt.Equal(want) {
		t.Error(entry, err)
	}
}

func TestMalformedAnswerIsRefused(t *testing.T) {
	for _, body := range []string{
		`{"found":true,"value":1,"value":2,"expiresAt":nul}`,
		`{"found":true,"value":1}{"a":1,"expiresAt":null}`,
		`{"found":true,"value":,"expiresAt":null}`,
		`{"found":true,"value":"` + "\xff" + `","expiresAt":null}`,
		`{"found":true,"value":1,"expiresAt":"tomorrow"}`,
		`{"FOUND":true,"VALUE":1,"EXPIRESAT":null}`,
		`null`,
	} {
		client := open(t, answer(http.StatusOK, body))
		_, rawErr := client.GetRaw(t.Context(), "k")
		_, err := client.Get(t.Context(), "k", new(any))
		if !errors.Is(rawErr, kvs.ErrInvalidAnswer) || !errors.Is(err, kvs.ErrInvalidAnswer) {
			t.Error(body, rawErr, err)
		}
	}
}

func TestContextOfTheCallerEndsTheCall(t *testing.T) {
	client := open(t, func(_ http.ResponseWriter, request *http.Request) {
		_, _ = io.ReadAll(request.Body)
		<-request.Context().Done()
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err := client.GetRaw(ctx, "k")
	if !errors.Is(err, kvs.ErrDeadlineExceeded) || !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	if _, err = client.GetRaw(ctx, "k"); !errors.Is(err, context.Canceled) || errors.Is(err, kvs.ErrDeadlineExceeded) {
		t.Error(err)
	}
}

func TestPendingCallsFailWhenTheClientIsClosed(t *testing.T) {
	arrived := make(chan struct{})
	client := open(t, func(_ http.ResponseWriter, request *http.Request) {
		_, _ = io.ReadAll(request.Body)
		arrived <- struct{}{}
		<-request.Context().Done()
	}, kvs.WithConnections(1), kvs.WithDeadline(time.Hour), kvs.WithAttempt(time.Hour))
	failures := make(chan error)
	for range 3 {
		go func() { failures <- client.Delete(context.Background(), "k") }()
	}
	<-arrived
	client.Close()
	client.Close()
	for range 3 {
		if err := <-failures; !errors.Is(err, kvs.ErrClosed) {
			t.Error(err)
		}
	}
	if err := client.Delete(t.Context(), "k"); !errors.Is(err, kvs.ErrClosed) {
		t.Error(err)
	}
}
