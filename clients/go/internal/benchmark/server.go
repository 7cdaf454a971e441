package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
)

// serve answers every get with the same value; a path that ends in /silent/v1/... is never answered.
func serve() {
	value, err := json.Marshal(kept)
	if err != nil {
		log.Fatal(err)
	}
	found := fmt.Appendf(nil, `{"found":true,"value":%s,"expiresAt":"2099-01-01T00:00:00.000Z"}`, value)
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/put", answer([]byte(`{"ok":true}`)))
	mux.HandleFunc("/v1/get", answer(found))
	mux.HandleFunc("/silent/v1/get", func(_ http.ResponseWriter, request *http.Request) { <-request.Context().Done() })
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("http://%s\n", listener.Addr())
	log.Fatal(http.Serve(listener, mux)) //nolint:gosec // for the benchmark alone
}

func answer(body []byte) http.HandlerFunc {
	return func(response http.ResponseWriter, request *http.Request) {
		if _, err := io.Copy(io.Discard, request.Body); err != nil {
			log.Print(err)
		}
		response.Header().Set("Content-Type", "application/json")
		_, _ = response.Write(body)
	}
}
