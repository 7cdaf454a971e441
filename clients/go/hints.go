package kvs

// Advice by code; other codes have the advice of their kind.
var hints = map[string]string{
	"invalid_region":       "set SERVICE_KVS_REGION to the region of the gateway",
	"signature_expired":    "correct the clock of this machine",
	"caller_not_approved":  "ask the operator to approve the role of these credentials for this app environment",
	"invalid_credentials":  useRole,
	codeNoCredentials:      useRole,
	"signature_mismatch":   checkSecret,
	"incomplete_signature": checkSecret,
	"invalid_host":         useURL,
	"not_found":            useURL,
	codeRedirect:           useURL,
	"invalid_token":        "set the variable of the table's token to its current token: it may have been rotated",
	"binding_inactive":     "ask the operator",
	"unsupported_app_type": "ask the operator",
	"rate_limited":         "wait for RetryAfter, or ask the operator for a higher limit",
	codeMissingVariable:    setVariable,
	codeInvalidVariable:    setVariable,
	codeNoAnswer:           "check that SERVICE_KVS_URL is reachable, or retry later; a put or delete may have been applied",
	codeDeadlineExceeded:   "allow more time with WithDeadline or the context; a put or delete may have been applied",
	codeUndecodable:        "read it with GetRaw",
	codeCanceled:           "a put or delete may have been applied",
	codeClosed:             "create another client",
}

const (
	useRole     = "use the credentials of the function's role, and let the SDK refresh them"
	checkSecret = "check the secret access key; proxies must keep Authorization, Host and body"
	setVariable = "set it to the value from the platform or kvs-gateway tables create --format env"
	useURL      = "use SERVICE_KVS_URL as the platform sets it"
)

// Hint returns advice on what to do.
func (e *Error) Hint() string {
	if hint, known := hints[e.Code]; known {
		return hint
	}
	switch e.kind {
	case ErrUnavailable:
		return "retry later; a put or delete may have been applied"
	case ErrConfiguration:
		return ""
	default:
		return "see docs/refusals.md of the gateway"
	}
}
