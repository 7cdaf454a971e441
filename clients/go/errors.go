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
	ErrConfiguration    = errors.New("kvs: the client cannot be made")
	ErrInvalidRequest   = errors.New("kvs: this call can never succeed")
	ErrNotAuthorized    = errors.New("kvs: signature, role or token are not accepted")
	ErrRateLimited      = errors.New("kvs: the rate limit is used up")
	ErrUnavailable      = errors.New("kvs: the gateway cannot be reached, or cannot serve")
	ErrDeadlineExceeded = errors.New("kvs: the deadline of the call has passed")
	ErrInvalidAnswer    = errors.New("kvs: what answered is not the gateway, or its answer was changed")
	ErrDecode           = errors.New("kvs: the value does not fit into the variable")
	ErrClosed           = errors.New("kvs: the client is closed")
)

// Codes of the client itself. All others are the gateway's.
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

// Error is why a call failed. It has no token, secret, key or value in it and can be logged as it is.
//
// If the caller's context ended the call, errors.Is finds context.Canceled or context.DeadlineExceeded in it.
type Error struct {
	Operation  string        // put, get or delete; empty where the client could not be made
	Status     int           // HTTP status of the last answer, 0 if there was none
	Code       string        // of the gateway's docs/refusals.md, or of the client
	Detail     string        // which rule it was, what was sent, what is allowed
	RequestID  string        // finds the request in the gateway's log
	RetryAfter time.Duration // how long to wait, if the answer said it
	isTold     bool          // whether RetryAfter was there
	kind       error
	cause      error
}

// Error is one line that ends with what to do.
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

// Is makes errors.Is find the kind of the error.
func (e *Error) Is(target error) bool { return target == e.kind }

// Unwrap returns the error of the caller's context, if that ended the call.
func (e *Error) Unwrap() error { return e.cause }

func misconfigured(code, format string, arguments ...any) *Error {
	return &Error{Code: code, Detail: fmt.Sprintf(format, arguments...), kind: ErrConfiguration}
}

// unsent is a call that the client itself refuses.
func unsent(code, detail string) *Error {
	return &Error{Code: code, Detail: detail, kind: ErrInvalidRequest}
}

func unanswered(detail string) *Error {
	return &Error{Code: codeNoAnswer, Detail: detail, kind: ErrUnavailable}
}

func closed() *Error { return &Error{Code: codeClosed, kind: ErrClosed} }

// ended says why a context is over.
func ended(ctx context.Context) *Error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return &Error{Code: codeCanceled, kind: context.Canceled, cause: context.Canceled}
	}
	return &Error{Code: codeDeadlineExceeded, kind: ErrDeadlineExceeded, cause: context.DeadlineExceeded}
}

// named adds the operation.
func named(operation string, err error) error {
	var failure *Error
	if errors.As(err, &failure) {
		failure.Operation = operation
	}
	return err
}
