// Command notes keeps notes for a day: PUT, GET and DELETE /notes/<id>.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"net/http"
	"strconv"
	"time"

	"example.com/kvs"
)

// note is the stored value and the body of requests and answers.
type note struct {
	Text string `json:"text"`
}

func handler(notes *kvs.Client) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /notes/{id}", func(response http.ResponseWriter, request *http.Request) {
		var sent note
		if err := json.NewDecoder(http.MaxBytesReader(response, request.Body, 32<<10)).Decode(&sent); err != nil {
			http.Error(response, "expected {\"text\": ...}", http.StatusBadRequest)
			return
		}
		fail(response, notes.Put(request.Context(), request.PathValue("id"), sent, 24*time.Hour))
	})
	mux.HandleFunc("GET /notes/{id}", func(response http.ResponseWriter, request *http.Request) {
		var kept note
		entry, err := notes.Get(request.Context(), request.PathValue("id"), &kept)
		switch {
		case err != nil:
			fail(response, err)
		case !entry.Found:
			http.NotFound(response, request)
		default:
			_ = json.NewEncoder(response).Encode(kept)
		}
	})
	mux.HandleFunc("DELETE /notes/{id}", func(response http.ResponseWriter, request *http.Request) {
		fail(response, notes.Delete(request.Context(), request.PathValue("id")))
	})
	return mux
}

// fail logs the reason, and answers with the time of a retry.
func fail(response http.ResponseWriter, err error) {
	var failure *kvs.Error
	switch {
	case err == nil:
		response.WriteHeader(http.StatusNoContent)
	case errors.Is(err, kvs.ErrInvalidRequest):
		http.Error(response, "this note cannot be stored", http.StatusBadRequest)
	default:
		log.Print(err)
		if errors.As(err, &failure) && failure.RetryAfter > 0 {
			response.Header().Set("Retry-After", strconv.Itoa(int(failure.RetryAfter.Seconds())+1))
		}
		http.Error(response, "try again later", http.StatusServiceUnavailable)
	}
}

func main() {
	notes, err := kvs.FromEnv(context.Background(), "notes")
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.ListenAndServe("127.0.0.1:8000", handler(notes)))
}
