package kvs

import (
	"bytes"
	"context"
	"encoding/json"
	"time"
	"unicode/utf8"
)

// Forms of answers: {"ok": true}, {"deleted": true}, {"found": true, "value": ..., "expiresAt": ...}. Unknown
// fields are ignored, so that the gateway may be newer than the client.

func (c *Client) get(ctx context.Context, key string, take func(value []byte) error) (Entry, error) {
	body, err := keyBody(c.prefix + key)
	if err != nil {
		return Entry{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.deadline)
	defer cancel()
	answer, failure := c.table.call(ctx, "get", body)
	if failure != nil {
		return Entry{}, failure
	}
	return readEntry(answer, take)
}

// confirm makes a call without a result.
func (c *Client) confirm(ctx context.Context, operation string, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, c.deadline)
	defer cancel()
	answer, failure := c.table.call(ctx, operation, body)
	if failure != nil {
		return failure
	}
	field := map[string]string{"put": "ok", "delete": "deleted"}[operation]
	if string(answer) == `{"`+field+`":true}` {
		return nil
	}
	if fields, valid := readFields(answer); !valid || string(fields[field]) != "true" {
		return malformed()
	}
	return nil
}

// The bytes that the gateway writes around a value.
var (
	beforeValue = []byte(`{"found":true,"value":`)
	afterValue  = []byte(`,"expiresAt":`)
)

// readEntry reads an answer in exactly the layout of the gateway, which saves reading the value twice. It is safe if the
// bytes between the two parts are one JSON value, which take checks: then the answer has no other meaning. Every other
// layout is left to readAnyEntry.
func readEntry(answer []byte, take func(value []byte) error) (Entry, error) {
	if entry, written := cutEntry(answer); written && take(entry.Value) == nil {
		return entry, nil
	}
	entry, err := readAnyEntry(answer)
	if err == nil && entry.Found {
		err = take(entry.Value)
	}
	return entry, err
}

func cutEntry(answer []byte) (entry Entry, written bool) {
	rest, begun := bytes.CutPrefix(answer, beforeValue)
	rest, ended := bytes.CutSuffix(rest, []byte("}"))
	end := bytes.LastIndex(rest, afterValue)
	if !begun || !ended || end < 0 || !utf8.Valid(answer) {
		return Entry{}, false
	}
	expires, valid := readTime(rest[end+len(afterValue):])
	value := bytes.TrimSpace(rest[:end:end])
	return Entry{Found: true, Value: value, ExpiresAt: expires}, valid && len(value) > 0
}

func readAnyEntry(answer []byte) (Entry, error) {
	fields, valid := readFields(answer)
	if !valid {
		return Entry{}, malformed()
	}
	switch string(fields["found"]) {
	case "false":
		return Entry{}, nil
	case "true":
		expires, valid := readTime(fields["expiresAt"])
		if value := fields["value"]; valid && value != nil {
			return Entry{Found: true, Value: value, ExpiresAt: expires}, nil
		}
	}
	return Entry{}, malformed()
}

// readFields returns a map: fields of a struct would match names in any case.
func readFields(answer []byte) (map[string]json.RawMessage, bool) {
	var fields map[string]json.RawMessage
	err := json.Unmarshal(answer, &fields)
	return fields, err == nil && fields != nil && utf8.Valid(answer)
}

// readTime accepts a time of RFC 3339 in quotes, without escapes.
func readTime(field json.RawMessage) (time.Time, bool) {
	if string(field) == "null" {
		return time.Time{}, true
	}
	if len(field) < 2 || field[0] != '"' || field[len(field)-1] != '"' {
		return time.Time{}, false
	}
	expires, err := time.Parse(time.RFC3339, string(field[1:len(field)-1]))
	return expires, err == nil && !expires.IsZero()
}

func malformed() *Error {
	return &Error{
		Status: 200,
		Code:   codeMalformedAnswer,
		Detail: "the answer does not have the form of this operation",
		kind:   ErrInvalidAnswer,
	}
}
