package kvs

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	longestDetail     = 256
	longestRequestID  = 128
	longestCode       = 64
	longestRetryAfter = 86_400
)

// answers judges responses. A 200 counts as the gateway's only if it has the form of the gateway's answers.
type answers struct {
	most  int
	token func() string
}

var errTooLong = errors.New("the body is longer than the limit of an answer")

// answer is the body of a 200, or a refusal. If it is whole, nothing of it is left to read on the connection.
type answer struct {
	body    []byte
	refusal *Error
	isWhole bool
}

// read judges a response; it returns an error if the response is incomplete.
func (a answers) read(response *http.Response) (answer, error) {
	status := response.StatusCode
	switch {
	case status >= http.StatusBadRequest:
		return a.refused(response)
	case status >= http.StatusMultipleChoices:
		return a.invalid(response, codeRedirect, "redirects are not followed"), nil
	case status != http.StatusOK:
		return a.invalid(response, codeUnexpectedStatus, ""), nil
	case !isIdentity(response.Header.Get("Content-Encoding")):
		return a.invalid(response, codeUnexpectedCoding, "expected no content coding"), nil
	case !isJSON(response.Header.Get("Content-Type")):
		return a.invalid(response, codeUnexpectedContentType, "expected application/json"), nil
	}
	body, err := a.body(response)
	if errors.Is(err, errTooLong) {
		return a.invalid(response, codeAnswerTooLarge, "more than "+strconv.Itoa(a.most)+" bytes"), nil
	}
	return answer{body: body, isWhole: true}, err
}

// body reads at most one byte more than the limit, and nothing if the head announces more.
func (a answers) body(response *http.Response) ([]byte, error) {
	length := response.ContentLength
	if length > int64(a.most) {
		return nil, errTooLong
	}
	if length >= 0 {
		body := make([]byte, length)
		_, err := io.ReadFull(response.Body, body)
		return body, err
	}
	var body bytes.Buffer
	read, err := body.ReadFrom(io.LimitReader(response.Body, int64(a.most)+1))
	if read > int64(a.most) {
		return nil, errTooLong
	}
	return body.Bytes(), err
}

func (a answers) refused(response *http.Response) (answer, error) {
	body, err := a.body(response)
	isWhole := err == nil
	if err != nil && !errors.Is(err, errTooLong) {
		return answer{}, err
	}
	refusal := a.failure(response, kindOf(response.StatusCode))
	refusal.Detail = a.text(response, response.Header.Get("X-Kvs-Error-Detail"))
	refusal.Code = a.code(response, body)
	refusal.RetryAfter, refusal.hasRetryAfter = readRetryAfter(response.Header.Get("Retry-After"))
	return answer{refusal: refusal, isWhole: isWhole}, nil
}

func (a answers) invalid(response *http.Response, code, detail string) answer {
	failure := a.failure(response, ErrInvalidAnswer)
	failure.Code, failure.Detail = code, detail
	return answer{refusal: failure}
}

func (a answers) failure(response *http.Response, kind error) *Error {
	failure := &Error{Status: response.StatusCode, kind: kind}
	if id := response.Header.Get("X-Request-Id"); len(id) <= longestRequestID && isVisible(id) {
		failure.RequestID = a.redact(response, id)
	}
	return failure
}

func (a answers) code(response *http.Response, body []byte) string {
	var refused struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(body, &refused) != nil || !isCode(refused.Error) {
		return "http_" + strconv.Itoa(response.StatusCode)
	}
	return a.redact(response, refused.Error)
}

// text keeps visible ASCII and spaces, which are safe in a log.
func (a answers) text(response *http.Response, sent string) string {
	clean := strings.Map(func(letter rune) rune {
		if letter < ' ' || letter > '~' {
			return '?'
		}
		return letter
	}, a.redact(response, sent))
	return clean[:min(len(clean), longestDetail)]
}

// redact replaces the two tokens of the request. It runs before the text is cut: part of a token would not be found.
func (a answers) redact(response *http.Response, sent string) string {
	sent = strings.ReplaceAll(sent, a.token(), "[token]")
	if session := response.Request.Header.Get("X-Amz-Security-Token"); session != "" {
		sent = strings.ReplaceAll(sent, session, "[token]")
	}
	return sent
}

func kindOf(status int) error {
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return ErrNotAuthorized
	case status == http.StatusTooManyRequests:
		return ErrRateLimited
	case status == http.StatusRequestTimeout || status >= http.StatusInternalServerError:
		return ErrUnavailable
	default:
		return ErrInvalidRequest
	}
}

// readRetryAfter accepts whole seconds only.
func readRetryAfter(field string) (time.Duration, bool) {
	seconds, err := strconv.ParseUint(field, 10, 32)
	if err != nil || seconds > longestRetryAfter {
		return 0, false
	}
	return time.Duration(seconds) * time.Second, true
}

func isIdentity(coding string) bool { return coding == "" || strings.EqualFold(coding, "identity") }

func isJSON(contentType string) bool {
	if contentType == "application/json" {
		return true
	}
	kind, _, err := mime.ParseMediaType(contentType)
	return err == nil && kind == "application/json"
}

func isCode(code string) bool {
	for _, letter := range []byte(code) {
		if letter != '_' && (letter < '0' || letter > '9') && (letter < 'a' || letter > 'z') {
			return false
		}
	}
	return len(code) >= 1 && len(code) <= longestCode
}
