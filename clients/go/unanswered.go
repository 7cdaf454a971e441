package kvs

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"syscall"
)

// whyUnanswered names known causes only: net/http quotes bytes that it cannot parse, in which a server may echo the token.
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
		return "the server does not speak TLS"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the connection was refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "the connection was reset"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection was closed before the answer was complete"
	default:
		return "the answer is not HTTP/1.1"
	}
}
