package kvs

import (
	"net/url"
	"strings"
)

// endpoint holds the three runtime variables of a table.
//
// The token is in a function, because fmt prints a function as an address: no verb can show it, however deep the
// endpoint is nested in the printed value.
type endpoint struct {
	url    *url.URL
	region string
	table  string
	token  func() string
}

// lookup is os.LookupEnv or a replacement by the caller.
type lookup func(name string) (string, bool)

func readEndpoint(table, prefix string, environment lookup) (endpoint, error) {
	if !isTableName(table) {
		return endpoint{}, misconfigured(codeInvalidOption, "table: expected 1 to 32 letters, digits and underscores")
	}
	names := [3]string{prefix + "_KVS_URL", prefix + "_KVS_REGION", prefix + "_KVS_TOKEN_" + strings.ToUpper(table)}
	var values [3]string
	for at, name := range names {
		value, _ := environment(name)
		if value == "" {
			return endpoint{}, misconfigured(codeMissingVariable, "%s is not set", name)
		}
		if !isVisible(value) {
			return endpoint{}, misconfigured(codeInvalidVariable, "%s: expected visible ASCII characters without spaces", name)
		}
		values[at] = value
	}
	base, err := readURL(names[0], values[0])
	if err != nil {
		return endpoint{}, err
	}
	token := values[2]
	return endpoint{base, values[1], table, func() string { return token }}, nil
}

// readURL quotes nothing: userinfo in the URL would be a secret.
func readURL(name, value string) (*url.URL, error) {
	base, err := url.Parse(value)
	switch {
	case err != nil || base.Host == "" || (base.Scheme != "https" && base.Scheme != "http"):
		return nil, misconfigured(codeInvalidVariable, "%s: expected http:// or https://, a host, and optionally a port and a path", name)
	case base.User != nil || base.RawQuery != "" || base.ForceQuery || base.Fragment != "":
		return nil, misconfigured(codeInvalidVariable, "%s: expected no user, query or fragment", name)
	}
	return base, nil
}

func isTableName(name string) bool {
	for _, letter := range []byte(name) {
		if letter != '_' && (letter < '0' || letter > '9') && (letter|0x20 < 'a' || letter|0x20 > 'z') {
			return false
		}
	}
	return len(name) >= 1 && len(name) <= 32
}

// isVisible reports whether text is visible ASCII, which every header field can carry.
func isVisible(text string) bool {
	for _, letter := range []byte(text) {
		if letter <= ' ' || letter > '~' {
			return false
		}
	}
	return true
}
