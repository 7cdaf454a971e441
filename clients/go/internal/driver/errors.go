package main

import (
	"context"
	"errors"

	"example.com/kvs"
)

// errorFields is an error in the form of the protocol, with null for absent fields.
type errorFields struct {
	Type       string   `json:"type"`
	Status     *int     `json:"status"`
	Code       *string  `json:"code"`
	Detail     *string  `json:"detail"`
	RequestID  *string  `json:"request_id"`
	Hint       *string  `json:"hint"`
	RetryAfter *float64 `json:"retry_after_seconds"`
}

var types = []struct {
	kind error
	name string
}{
	{context.Canceled, "Cancelled"},
	{kvs.ErrConfiguration, "ConfigurationError"},
	{kvs.ErrInvalidRequest, "InvalidRequest"},
	{kvs.ErrNotAuthorized, "NotAuthorized"},
	{kvs.ErrRateLimited, "RateLimited"},
	{kvs.ErrUnavailable, "Unavailable"},
	{kvs.ErrDeadlineExceeded, "DeadlineExceeded"},
	{kvs.ErrInvalidAnswer, "InvalidAnswer"},
}

func fieldsOf(err error) *errorFields {
	var failure *kvs.Error
	for _, each := range types {
		if errors.Is(err, each.kind) && errors.As(err, &failure) {
			seconds := failure.RetryAfter.Seconds()
			return &errorFields{
				Type:       each.name,
				Status:     unlessZero(failure.Status),
				Code:       unlessZero(failure.Code),
				Detail:     unlessZero(failure.Detail),
				RequestID:  unlessZero(failure.RequestID),
				Hint:       unlessZero(failure.Hint()),
				RetryAfter: unlessZero(seconds),
			}
		}
	}
	text := err.Error()
	return &errorFields{Type: "Unexpected", Detail: &text}
}

func unlessZero[T comparable](value T) *T {
	var zero T
	if value == zero {
		return nil
	}
	return &value
}
