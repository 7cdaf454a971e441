//go:build unix

package kvs

import (
	"bufio"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// Whatever a server answers, the error is one of this package, without secrets.
func TestAnyAnswerIsAnEntryOrAnErrorOfThisPackage(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	entry := func(value string) string {
		return httpAnswer(`{"found":true,"value":` + value + `,"expiresAt":null}`)
	}
	for name, each := range map[string]struct {
		answer string
		kind   error
	}{
		"nothing":               {"", ErrUnavailable},
		"no HTTP":               {"hello\r\n\r\n", ErrUnavailable},
		"another version":       {"HTTP/2 200 OK\r\n\r\n", ErrUnavailable},
		"another protocol":      {"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", ErrInvalidAnswer},
		"100 before the answer": {strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 100) + entry("1"), nil},
		"2,000 times 100":       {strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 2000) + entry("1"), ErrUnavailable},
		"a huge field":          {head + "X: " + strings.Repeat("x", headBytes) + "\r\n\r\n", ErrUnavailable},
		"an echoed token":       {head + "your token is token\r\n\r\n", ErrUnavailable},
		"a negative length":     {head + "Content-Length: -1\r\n\r\n{}", ErrUnavailable},
		"two lengths":           {head + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n{}", ErrUnavailable},
		"a chunk of no size":    {head + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n{}\r\n", ErrUnavailable},
		"another coding":        {head + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", ErrUnavailable},
		"a content coding":      {head + "Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}", ErrInvalidAnswer},
		"a short body":          {head + "Content-Length: 50\r\n\r\n{}", ErrUnavailable},
		"a long body":           {head + "Content-Length: 99999999999\r\n\r\n{}", ErrInvalidAnswer},
		"no JSON":               {httpAnswer("{"), ErrInvalidAnswer},
		"an array":              {httpAnswer("[]"), ErrInvalidAnswer},
		"deep nesting":          {entry(strings.Repeat("[", 20_000)), ErrInvalidAnswer},
		"deep, but closed":      {entry(strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)), ErrInvalidAnswer},
		"not UTF-8":             {entry("\"\xff\""), ErrInvalidAnswer},
		"NaN":                   {entry("NaN"), ErrInvalidAnswer},
		"a lone surrogate":      {entry(`"\ud800"`), nil},
		"a huge integer":        {entry(strings.Repeat("7", 5000)), ErrDecode},
		"a huge exponent":       {entry("1e999"), ErrDecode},
		"an expiry of a number": {httpAnswer(`{"found":true,"value":1,"expiresAt":5}`), ErrInvalidAnswer},
		"an expiry of no day":   {httpAnswer(`{"found":true,"value":1,"expiresAt":"2026-02-31T00:00:00Z"}`), ErrInvalidAnswer},
		"found as text":         {httpAnswer(`{"found":"yes","value":1,"expiresAt":null}`), ErrInvalidAnswer},
	} {
		t.Run(name, func(t *testing.T) {
			client := clientOf(t, script(t, func(_ int64, connection net.Conn, requests *bufio.Reader) {
				if readRequest(requests) {
					_, _ = io.WriteString(connection, each.answer)
				}
			}), WithBackoffBase(time.Hour), WithBackoffCap(time.Hour))
			var value any
			_, err := client.Get(t.Context(), "k", &value)
			var own *Error
			if each.kind == nil && err != nil || each.kind != nil && (!errors.Is(err, each.kind) || !errors.As(err, &own)) {
				t.Error(err)
			}
			if err != nil && (strings.Contains(err.Error(), "is token") || len(err.Error()) > 1000) {
				t.Error(err)
			}
		})
	}
}
