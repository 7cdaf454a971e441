package kvs

// What to do about a code; other codes have the hint of their kind.
var hints = map[string]string{
	"invalid_region":       "set SERVICE_KVS_REGION to the region of the gateway",
	"signature_expired":    "set the clock of this machine",
	"caller_not_approved":  "ask the operator to approve the role of these credentials, for this app environment",
	"invalid_credentials":  useRole,
	codeNoCredentials:      useRole,
	"signature_mismatch":   checkSecret,
	"incomplete_signature": checkSecret,
	"invalid_host":         useURL,
	"not_found":            useURL,
	codeRedirect:           useURL,
	"invalid_token":        "set the variable of the table's token to a valid token: it may have been rotated",
	"binding_inactive":     "ask the operator",
	"unsupported_app_type": "ask the operator",
	"rate_limited":         "wait for RetryAfter, or ask the operator for a higher limit",
	codeMissingVariable:    setVariable,
	codeInvalidVariable:    setVariable,
	codeNoAnswer:           "check that SERVICE_KVS_URL can be reached, or repeat later; a put or delete may have been applied",
	codeDeadlineExceeded:   "allow more time with WithDeadline or the context; a put or delete may have been applied",
	codeUndecodable:        "read it with GetRaw",
	codeCanceled:           "a put or delete may have been applied",
	codeClosed:             "make another client",
}

const (
	useRole     = "use the credentials of the function's role, and let the SDK refresh them"
	checkSecret = "check the secret access key; proxies must keep Authorization, Host and body"
	setVariable = "set it to what the platform, or kvs-gateway tables create --format env, gives"
	useURL      = "use SERVICE_KVS_URL as the platform sets it"
)

// Hint says what to do.
func (e *Error) Hint() string {
	if hint, known := hints[e.Code]; known {
		return hint
	}
	switch e.kind {
	case ErrUnavailable:
		return "repeat later; a put or delete may have been applied"
	case ErrConfiguration:
		return ""
	default:
		return "see docs/refusals.md of the gateway"
	}
}
