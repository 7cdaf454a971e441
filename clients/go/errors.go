package kvs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Kinds of errors: errors.Is(err, kvs.ErrRateLimited).
var (
	ErrConfiguration    = errors.New("kvs: the client cannot be created")
	ErrInvalidRequest   = errors.New("kvs: the request is invalid")
	ErrNotAuthorized    = errors.New("kvs: the gateway did not accept the signature, the role or the token")
	ErrRateLimited      = errors.New("kvs: the rate limit is used up")
	ErrUnavailable      = errors.New("kvs: the gateway cannot be reached, or cannot serve the request")
	ErrDeadlineExceeded = errors.New("kvs: the deadline of the call has passed")
	ErrInvalidAnswer    = errors.New("kvs: the answer did not come from the gateway, or was changed on its way")
	ErrDecode           = errors.New("kvs: the value does not fit into the variable")
	ErrClosed           = errors.New("kvs: the client is closed")
)

// Codes of the client itself. All others are codes of the gateway.
const (
	codeMissingVariable       = "missing_variable"
	codeInvalidVariable       = "invalid_variable"
	codeInvalidOption         = "invalid_option"
	codeBrowser               = "browser"
	codeInvalidKey            = "invalid_key"
	codeInvalidValue          = "invalid_value"
	codeNoCredentials         = "no_credentials"
	codeNoAnswer              = "no_answer"
	codeDeadlineExceeded      = "deadline_exceeded"
	codeRedirect              = "redirect"
	codeUnexpectedStatus      = "unexpected_status"
	codeUnexpectedContentType = "unexpected_content_type"
	codeUnexpectedCoding      = "unexpected_content_coding"
	codeAnswerTooLarge        = "answer_too_large"
	codeMalformedAnswer       = "malformed_answer"
	codeUndecodable           = "undecodable_value"
	codeCanceled              = "canceled"
	codeClosed                = "closed"
)

// Error explains why a call failed. It contains no token, secret, key or value, so it can be logged.
//
// If the caller's context ended the call, errors.Is finds context.Canceled or context.DeadlineExceeded in it.
type Error struct {
	Operation     string        // put, get or delete; empty if the client could not be created
	Status        int           // HTTP status of the last answer, 0 if there was none
	Code          string        // code of the gateway (docs/refusals.md) or of the client
	Detail        string        // the rule, the value that was sent, and the allowed ones
	RequestID     string        // finds the request in the gateway's log
	RetryAfter    time.Duration // how long to wait, if the answer had it
	hasRetryAfter bool          // whether the answer had Retry-After
	kind          error
	cause         error
}

// Error returns one line that ends with advice.
func (e *Error) Error() string {
	var line strings.Builder
	line.WriteString("kvs")
	if e.Operation != "" {
		line.WriteString(" " + e.Operation)
	}
	line.WriteString(": ")
	if e.Status != 0 {
		fmt.Fprintf(&line, "%d ", e.Status)
	}
	line.WriteString(e.Code)
	if e.Detail != "" {
		line.WriteString(": " + e.Detail)
	}
	if hint := e.Hint(); hint != "" {
		line.WriteString("; " + hint)
	}
	if e.RequestID != "" {
		line.WriteString(" (request " + e.RequestID + ")")
	}
	return line.String()
}

// Is reports the kind of the error to errors.Is.
func (e *Error) Is(target error) bool { return target == e.kind }

// Unwrap returns the error of the caller's context, if it ended the call.
func (e *Error) Unwrap() error { return e.cause }

func misconfigured(code, format string, arguments ...any) *Error {
	return &Error{Code: code, Detail: fmt.Sprintf(format, arguments...), kind: ErrConfiguration}
}

// unsent returns the error of a call that the client refuses itself.
func unsent(code, detail string) *Error {
	return &Error{Code: code, Detail: detail, kind: ErrInvalidRequest}
}

func unanswered(detail string) *Error {
	return &Error{Code: codeNoAnswer, Detail: detail, kind: ErrUnavailable}
}

func closed() *Error { return &Error{Code: codeClosed, kind: ErrClosed} }

// ended returns the error for a context that has ended.
func ended(ctx context.Context) *Error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return &Error{Code: codeCanceled, kind: context.Canceled, cause: context.Canceled}
	}
	return &Error{Code: codeDeadlineExceeded, kind: ErrDeadlineExceeded, cause: context.DeadlineExceeded}
}

// named adds the operation to an error.
func named(operation string, err error) error {
	var failure *Error
	if errors.As(err, &failure) {
		failure.Operation = operation
	}
	return err
}
