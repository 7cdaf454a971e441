package kvs

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"syscall"
)

// whyUnanswered has no words of its own for the rest: net/http quotes what it cannot read, and a server may have sent
// the token back.
func whyUnanswered(err error) string {
	var name *net.DNSError
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &name):
		return "the host of the gateway has no address"
	case errors.As(err, &certificate):
		return "the certificate is not trusted"
	case errors.As(err, &record):
		return "what answered does not speak TLS"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the connection was refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "the connection was reset"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection was closed before the answer was whole"
	default:
		return "no answer of HTTP/1.1"
	}
}
