//go:build unix

package kvs

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const (
	askedBody  = `{"found":true,"value":"asked","expiresAt":null}`
	forgedBody = `{"found":true,"value":"forged","expiresAt":null}`
)

func httpAnswer(body string) string {
	return "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body
}

// withTLS makes the connections of a script those of TLS, and returns the authority that the client trusts.
func withTLS(
	step func(number int64, connection net.Conn, requests *bufio.Reader),
) (func(int64, net.Conn, *bufio.Reader), *x509.CertPool) {
	server := httptest.NewUnstartedServer(nil)
	server.StartTLS()
	defer server.Close()
	authorities := x509.NewCertPool()
	authorities.AddCert(server.Certificate())
	settings := &tls.Config{Certificates: server.TLS.Certificates}
	return func(number int64, connection net.Conn, _ *bufio.Reader) {
		secured := tls.Server(connection, settings)
		step(number, secured, bufio.NewReader(secured))
	}, authorities
}

func TestUnaskedAnswerOverTLSAnswersNoLaterCall(t *testing.T) {
	long := "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 3*bufferBytes)
	for name, unasked := range map[string][]string{
		"in the record of the answer":         {httpAnswer(askedBody) + httpAnswer(forgedBody)},
		"longer than the buffer":              {httpAnswer(askedBody) + long},
		"in a record of its own":              {httpAnswer(askedBody), httpAnswer(forgedBody)},
		"half an answer":                      {httpAnswer(askedBody), httpAnswer(forgedBody)[:30]},
		"longer than the buffer, on its own":  {httpAnswer(askedBody), long},
		"in several records":                  {httpAnswer(askedBody), "HTTP/1.1 ", "200 OK\r\n", "\r\n"},
		"the end of the connection, by alert": {httpAnswer(askedBody), ""},
	} {
		t.Run(name, func(t *testing.T) {
			sent := make(chan struct{}, 1)
			var last atomic.Int64
			step, authorities := withTLS(func(number int64, connection net.Conn, requests *bufio.Reader) {
				last.Store(number)
				for readRequest(requests) {
					for _, part := range unasked {
						if part == "" {
							_ = connection.(*tls.Conn).CloseWrite()
						}
						_, _ = io.WriteString(connection, part)
					}
					sent <- struct{}{}
				}
			})
			url := strings.Replace(script(t, step), "http://", "https://", 1)
			client := clientOf(t, url, WithBackoffBase(time.Hour), WithBackoffCap(time.Hour))
			client.table.connections.dialer.tls.RootCAs = authorities
			for count := int64(1); count <= 3; count++ {
				var value string
				if _, err := client.Get(t.Context(), "k", &value); err != nil || value != "asked" || last.Load() != count {
					t.Fatal(count, value, last.Load(), err)
				}
				<-sent
			}
		})
	}
}
