package kvs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"
)

// The body of a request is written around the value, so that a raw value is sent byte for byte: encoding/json would
// compact it.

func putBody(key string, value []byte, ttl time.Duration) ([]byte, error) {
	body, err := openBody(key, len(value)+len(`,"value":,"ttlSeconds":31536000`))
	if err != nil {
		return nil, err
	}
	body = append(body, `,"value":`...)
	body = append(body, value...)
	if ttl != NoExpiry {
		body = append(body, `,"ttlSeconds":`...)
		body = strconv.AppendInt(body, int64(ttl/time.Second), 10)
	}
	return append(body, '}'), nil
}

func keyBody(key string) ([]byte, error) {
	body, err := openBody(key, 0)
	return append(body, '}'), err
}

// openBody refuses a key that is not UTF-8: encoding/json would replace the invalid bytes, so that two keys could
// become one.
func openBody(key string, further int) ([]byte, error) {
	if !utf8.ValidString(key) {
		return nil, unsent(codeInvalidKey, "key: expected a string in UTF-8")
	}
	body := make([]byte, 0, len(`{"key":""}`)+len(key)+further)
	body = append(body, `{"key":`...)
	return appendString(body, key), nil
}

func appendString(body []byte, text string) []byte {
	for _, letter := range []byte(text) {
		if letter < ' ' || letter == '"' || letter == '\\' {
			quoted, _ := json.Marshal(text) //nolint:errcheck // a string can always be encoded
			return append(body, quoted...)
		}
	}
	body = append(body, '"')
	body = append(body, text...)
	return append(body, '"')
}

// encode is json.Marshal without escapes for HTML, which add five bytes to each < > &.
func encode(value any) ([]byte, error) {
	if raw, is := value.(json.RawMessage); is {
		return checkRaw(raw)
	}
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, unsent(codeInvalidValue, "value: "+whyNotEncoded(value, err))
	}
	return bytes.TrimSuffix(encoded.Bytes(), []byte("\n")), nil
}

// checkRaw refuses raw bytes that are not one JSON value: they could become other fields of the body.
func checkRaw(raw []byte) ([]byte, error) {
	if !json.Valid(raw) || !utf8.Valid(raw) {
		return nil, unsent(codeInvalidValue, "value: expected exactly one JSON value")
	}
	return raw, nil
}

// whyNotEncoded drops the message of a custom encoder, because it may quote the value.
func whyNotEncoded(value any, err error) string {
	var unsupportedType *json.UnsupportedTypeError
	if errors.As(err, &unsupportedType) {
		return unsupportedType.Error()
	}
	var unsupported *json.UnsupportedValueError
	if errors.As(err, &unsupported) {
		return "json: unsupported value of type " + unsupported.Value.Type().String()
	}
	return fmt.Sprintf("the JSON encoder of %T returned an error", value)
}

// decode drops the message of the decoder: it quotes numbers and, for types with a decoder of their own, anything.
func decode(value []byte, into any) error {
	if err := json.Unmarshal(value, into); err != nil {
		return &Error{
			Code:   codeUndecodable,
			Detail: fmt.Sprintf("value: %s does not fit into %T", jsonKind(value), into),
			kind:   ErrDecode,
		}
	}
	return nil
}

func jsonKind(value []byte) string {
	switch value[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	default:
		return "a number"
	}
}
