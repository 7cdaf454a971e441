package kvs_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"example.com/kvs"
)

const (
	token        = "kvs_hidden-token"
	sessionToken = "hidden-session-token"
	secret       = "hidden-secret-access-key"
)

// open returns a client of a server that answers as the handler does.
func open(t *testing.T, handler http.HandlerFunc, options ...kvs.Option) *kvs.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	client := openURL(t, server.URL, options...)
	t.Cleanup(client.Close)
	return client
}

func openURL(t *testing.T, url string, options ...kvs.Option) *kvs.Client {
	t.Helper()
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID":           "AKIDEXAMPLE",
		"AWS_SECRET_ACCESS_KEY":       secret,
		"AWS_SESSION_TOKEN":           sessionToken,
		"AWS_CONFIG_FILE":             "/nowhere",
		"AWS_SHARED_CREDENTIALS_FILE": "/nowhere",
	} {
		t.Setenv(name, value)
	}
	client, err := kvs.FromEnv(t.Context(), "notes", append(options, kvs.WithEnvironment(environment(url)))...)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func environment(url string) func(string) (string, bool) {
	variables := map[string]string{
		"SERVICE_KVS_URL":         url,
		"SERVICE_KVS_REGION":      "eu-central-1",
		"SERVICE_KVS_TOKEN_NOTES": token,
	}
	return func(name string) (string, bool) {
		value, found := variables[name]
		return value, found
	}
}

// answer sends a JSON body.
func answer(status int, body string) http.HandlerFunc {
	return func(response http.ResponseWriter, _ *http.Request) {
		response.Header().Set("Content-Type", "application/json")
		response.WriteHeader(status)
		_, _ = response.Write([]byte(body))
	}
}

// kept answers as a gateway that has this one entry.
func kept(value string) http.HandlerFunc {
	return answer(http.StatusOK, `{"found":true,"value":`+value+`,"expiresAt":null}`)
}
