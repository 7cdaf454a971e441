//go:build unix

package kvs

import (
	"bufio"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
)

const okAnswer = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n{\"ok\":true}"

// script is a server that calls one step for each connection, the last one for all others, with its number from 1.
func script(t *testing.T, step func(number int64, connection net.Conn, requests *bufio.Reader)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	var count atomic.Int64
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer connection.Close()
				step(count.Add(1), connection, bufio.NewReader(connection))
			}()
		}
	}()
	return "http://" + listener.Addr().String()
}

// readRequest reads one whole request; false at the end of the connection.
func readRequest(requests *bufio.Reader) bool {
	request, err := http.ReadRequest(requests)
	if err == nil {
		_, err = io.ReadAll(request.Body)
	}
	return err == nil
}

func clientOf(t *testing.T, url string, options ...Option) *Client {
	t.Helper()
	variables := map[string]string{
		"SERVICE_KVS_URL": url, "SERVICE_KVS_REGION": "eu-central-1", "SERVICE_KVS_TOKEN_NOTES": "token",
	}
	options = append(options,
		WithEnvironment(func(name string) (string, bool) { value, found := variables[name]; return value, found }),
		WithCredentials(credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "secret", "")))
	client, err := FromEnv(t.Context(), "notes", options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

func TestConnectionIsReusedWithAndWithoutTLS(t *testing.T) {
	var opened atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(response http.ResponseWriter, _ *http.Request) {
		response.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(response, `{"ok":true}`)
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	client := clientOf(t, server.URL, WithBackoffBase(time.Hour), WithBackoffCap(time.Hour))
	if err := client.Put(t.Context(), "k", 1, NoExpiry); err == nil || !strings.Contains(err.Error(), "the certificate is not trusted") {
		t.Error(err)
	}
	client.table.connections.dialer.tls.RootCAs = x509.NewCertPool()
	client.table.connections.dialer.tls.RootCAs.AddCert(server.Certificate())
	refused := opened.Load()
	for range 10 {
		if err := client.Put(t.Context(), "k", 1, NoExpiry); err != nil {
			t.Fatal(err)
		}
		_ = client.table.connections.idle[0].SetDeadline(past) // as when it has not been used for long
	}
	if opened.Load() != refused+1 {
		t.Error(opened.Load()-refused, "connections")
	}
}

func TestConnectionClosedWhileIdleIsNotUsed(t *testing.T) {
	gone := make(chan struct{})
	client := clientOf(t, script(t, func(number int64, connection net.Conn, requests *bufio.Reader) {
		for readRequest(requests) {
			_, _ = io.WriteString(connection, okAnswer)
			if number == 1 {
				_ = connection.Close()
				close(gone)
			}
		}
	}), WithBackoffBase(time.Hour), WithBackoffCap(time.Hour))
	if err := client.Put(t.Context(), "k", 1, NoExpiry); err != nil {
		t.Fatal(err)
	}
	<-gone
	first := client.table.connections.idle[0]
	for first.isAlive() { // until its end has arrived here
		time.Sleep(time.Millisecond)
	}
	if err := client.Put(t.Context(), "k", 1, NoExpiry); err != nil || client.table.connections.idle[0] == first {
		t.Error(err)
	}
}

func TestConnectionWithBytesAfterTheAnswerIsNotReused(t *testing.T) {
	var connections atomic.Int64
	client := clientOf(t, script(t, func(number int64, connection net.Conn, requests *bufio.Reader) {
		connections.Store(number)
		for readRequest(requests) {
			_, _ = io.WriteString(connection, okAnswer+"HTTP/1.1 200 OK\r\n")
		}
	}))
	for range 3 {
		if err := client.Put(t.Context(), "k", 1, NoExpiry); err != nil {
			t.Error(err)
		}
	}
	if connections.Load() != 3 {
		t.Error(connections.Load())
	}
}

func TestEndlessHeadIsCutOff(t *testing.T) {
	for name, line := range map[string]string{
		"fields":        "X-Field: " + strings.Repeat("x", 1000) + "\r\n",
		"informational": "\r\nHTTP/1.1 100 Continue\r\nX: 1\r\n",
		"one line":      strings.Repeat("x", 1000),
	} {
		var sent atomic.Int64
		client := clientOf(t, script(t, func(_ int64, connection net.Conn, requests *bufio.Reader) {
			readRequest(requests)
			_, err := io.WriteString(connection, "HTTP/1.1 100 Continue\r\n")
			for err == nil {
				var length int
				length, err = io.WriteString(connection, line)
				sent.Add(int64(length))
			}
		}), WithDeadline(30*time.Second), WithBackoffBase(time.Hour), WithBackoffCap(time.Hour))
		err := client.Put(t.Context(), "k", 1, NoExpiry)
		if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "the answer is not HTTP/1.1") || sent.Load() > 16<<20 {
			t.Error(name, sent.Load(), err)
		}
	}
}

func TestAnswerBeforeTheEndOfTheBodyIsReturned(t *testing.T) {
	client := clientOf(t, script(t, func(_ int64, connection net.Conn, requests *bufio.Reader) {
		if _, err := http.ReadRequest(requests); err == nil {
			_, _ = io.WriteString(connection, "HTTP/1.1 413 Too Large\r\nContent-Length: 26\r\n\r\n{\"error\":\"body_too_large\"}")
			_, _ = io.Copy(io.Discard, requests)
		}
	}))
	err := client.Put(t.Context(), "k", strings.Repeat("x", 8<<20), NoExpiry)
	if !errors.Is(err, ErrInvalidRequest) || !strings.Contains(err.Error(), "413 body_too_large") {
		t.Error(err)
	}
}

func TestAnswerMayArriveByteByByte(t *testing.T) {
	client := clientOf(t, script(t, func(_ int64, connection net.Conn, requests *bufio.Reader) {
		for readRequest(requests) {
			for _, letter := range "HTTP/1.1 103 Early Hints\r\n\r\n" + okAnswer {
				_, _ = fmt.Fprintf(connection, "%c", letter)
			}
		}
	}))
	for range 3 {
		if err := client.Put(context.Background(), "k", 1, NoExpiry); err != nil {
			t.Error(err)
		}
	}
}
