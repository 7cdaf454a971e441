package kvs_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/kvs"
)

// printed is a thing in every way that fmt and slog print it, nested and not.
func printed(thing any) string {
	var text bytes.Buffer
	for _, nested := range []any{thing, []any{thing}, struct{ inner any }{thing}, map[string]any{"k": thing}} {
		fmt.Fprintf(&text, "%v\n%+v\n%#v\n%s\n%q\n%x\n", nested, nested, nested, nested, nested, nested)
		slog.New(slog.NewTextHandler(&text, nil)).Info("shown", "thing", nested)
		slog.New(slog.NewJSONHandler(&text, nil)).Info("shown", "thing", nested)
	}
	return text.String()
}

func mustNotTell(t *testing.T, text string) {
	t.Helper()
	for _, hidden := range []string{token, sessionToken, secret, fmt.Sprintf("%x", token), fmt.Sprintf("%x", secret)} {
		if strings.Contains(text, hidden) {
			t.Errorf("%q is quoted in %s", hidden, text)
		}
	}
}

func TestClientPrintsItsTableAndHost(t *testing.T) {
	client := open(t, kept("1"))
	for _, thing := range []any{client, *client} {
		text := printed(thing)
		mustNotTell(t, text)
		if !strings.Contains(text, "kvs.Client(notes of 127.0.0.1:") {
			t.Error(text)
		}
	}
	type holder struct{ notes kvs.Client }
	mustNotTell(t, printed(holder{*client})+printed(&holder{*client}))
}

func TestOptionDoesNotPrintItsValue(t *testing.T) {
	mustNotTell(t, printed(kvs.WithPrefix(token)))
}

func TestErrorsDoNotContainEchoedTokens(t *testing.T) {
	client := open(t, func(response http.ResponseWriter, request *http.Request) {
		for _, field := range []string{"X-Kvs-Error-Detail", "X-Request-Id"} {
			response.Header().Set(field, token+" "+request.Header.Get("X-Amz-Security-Token")+"\xc3\xbc")
		}
		response.Header().Set("X-Request-Id", token)
		answer(http.StatusForbidden, `{"error": "invalid_token"}`)(response, request)
	})
	_, err := client.GetRaw(t.Context(), "k")
	mustNotTell(t, printed(err)+err.Error())
	if text := err.Error(); !strings.Contains(text, "invalid_token: [token] [token]?; set the variable") {
		t.Error(text)
	}
}

func TestErrorsDoNotContainPartOfAToken(t *testing.T) {
	client := open(t, func(response http.ResponseWriter, request *http.Request) {
		response.Header().Set("X-Kvs-Error-Detail", strings.Repeat("x", 250)+token)
		answer(http.StatusBadRequest, `{}`)(response, request)
	})
	_, err := client.GetRaw(t.Context(), "k")
	if strings.Contains(err.Error(), "kvs_") {
		t.Error(err)
	}
}

func TestAnswerThatIsNotHTTPIsNotQuoted(t *testing.T) {
	client := open(t, func(response http.ResponseWriter, request *http.Request) {
		connection, _, err := response.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer connection.Close()
		fmt.Fprintf(connection, "%s %s\r\n\r\n", token, request.Header.Get("X-Amz-Security-Token"))
	}, kvs.WithDeadline(time.Second))
	_, err := client.GetRaw(t.Context(), "k")
	mustNotTell(t, printed(err)+err.Error())
}

func TestValueThatDoesNotFitIsNotQuoted(t *testing.T) {
	client := open(t, kept(`"`+secret+`"`))
	for _, into := range []any{new(int), new(time.Time), new([]string)} {
		_, err := client.Get(t.Context(), "k", into)
		mustNotTell(t, printed(err)+err.Error())
		if want := fmt.Sprintf("a string does not fit into %T", into); !strings.Contains(err.Error(), want) {
			t.Error(err)
		}
	}
}

type secretive struct{}

func (secretive) MarshalJSON() ([]byte, error) { return nil, fmt.Errorf("cannot write %s", secret) }

func TestValueThatCannotBeEncodedIsNotQuoted(t *testing.T) {
	client := open(t, kept("1"))
	for _, value := range []any{secretive{}, func() {}, make(chan int), map[string]any{secret: secretive{}}} {
		err := client.Put(t.Context(), "k", value, kvs.NoExpiry)
		mustNotTell(t, printed(err)+err.Error())
	}
}
