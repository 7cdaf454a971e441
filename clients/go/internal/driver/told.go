package main

import (
	"context"
	"errors"

	"example.com/kvs"
)

// told is an error as the protocol has it, with null for what there is not.
type told struct {
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

func tell(err error) *told {
	var failure *kvs.Error
	for _, each := range types {
		if errors.Is(err, each.kind) && errors.As(err, &failure) {
			seconds := failure.RetryAfter.Seconds()
			return &told{
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
	return &told{Type: "Unexpected", Detail: &text}
}

func unlessZero[T comparable](value T) *T {
	var zero T
	if value == zero {
		return nil
	}
	return &value
}
