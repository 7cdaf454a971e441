package main

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"example.com/kvs"
	"example.com/kvs/kvstest"
)

func TestANoteIsKeptUntilItIsDeleted(t *testing.T) {
	if _, err := exec.LookPath("kvs-gateway"); errors.Is(err, exec.ErrNotFound) && os.Getenv(kvstest.CommandVariable) == "" {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	kvstest.Start(t, "notes").Setenv(t)
	notes, err := kvs.FromEnv(t.Context(), "notes")
	if err != nil {
		t.Fatal(err)
	}
	defer notes.Close()
	server := httptest.NewServer(handler(notes))
	defer server.Close()
	for _, step := range []struct {
		method, id, body string
		status           int
		want             string
	}{
		{"GET", "1", "", 404, "404 page not found"},
		{"PUT", "1", `{"text":"milk"}`, 204, ""},
		{"GET", "1", "", 200, `{"text":"milk"}`},
		{"PUT", "1", `milk`, 400, `expected {"text": ...}`},
		{"PUT", strings.Repeat("x", 513), `{}`, 400, "this note cannot be stored"},
		{"DELETE", "1", "", 204, ""},
		{"GET", "1", "", 404, "404 page not found"},
	} {
		request, err := http.NewRequestWithContext(t.Context(), step.method, server.URL+"/notes/"+step.id, strings.NewReader(step.body))
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || response.StatusCode != step.status || strings.TrimSpace(string(body)) != step.want {
			t.Errorf("%s %.9s: %d %s, %v", step.method, step.id, response.StatusCode, body, err)
		}
	}
}
