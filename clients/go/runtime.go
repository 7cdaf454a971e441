package kvs

import (
	"net/url"
	"strings"
)

// endpoint is what the three runtime variables of a table say.
//
// The token is behind a function, because fmt prints a function as an address: no verb can show it, however deep the
// endpoint is nested in what is printed.
type endpoint struct {
	url    *url.URL
	region string
	table  string
	token  func() string
}

// lookup is os.LookupEnv, or an environment of the caller's.
type lookup func(name string) (string, bool)

func readEndpoint(table, prefix string, environment lookup) (endpoint, error) {
	if !isTableName(table) {
		return endpoint{}, misconfigured(codeInvalidOption, "the name of a table is 1 to 32 ASCII letters, digits and underscores")
	}
	names := [3]string{prefix + "_KVS_URL", prefix + "_KVS_REGION", prefix + "_KVS_TOKEN_" + strings.ToUpper(table)}
	var values [3]string
	for at, name := range names {
		value, _ := environment(name)
		if value == "" {
			return endpoint{}, misconfigured(codeMissingVariable, "%s is not set", name)
		}
		if !isVisible(value) {
			return endpoint{}, misconfigured(codeInvalidVariable, "%s has a blank, a line break or another invisible character", name)
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

// readURL quotes nothing: userinfo, if there is some, is a secret.
func readURL(name, value string) (*url.URL, error) {
	base, err := url.Parse(value)
	switch {
	case err != nil || base.Host == "" || (base.Scheme != "https" && base.Scheme != "http"):
		return nil, misconfigured(codeInvalidVariable, "%s is not an http or https URL", name)
	case base.User != nil || base.RawQuery != "" || base.ForceQuery || base.Fragment != "":
		return nil, misconfigured(codeInvalidVariable, "%s has more than scheme, host and path", name)
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

// isVisible reports whether text is visible ASCII, which is all that a header field can safely carry.
func isVisible(text string) bool {
	for _, letter := range []byte(text) {
		if letter <= ' ' || letter > '~' {
			return false
		}
	}
	return true
}
