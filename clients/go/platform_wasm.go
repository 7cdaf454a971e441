//go:build js || wasip1

package kvs

// checkPlatform refuses where a token cannot be kept secret: what is compiled into WebAssembly can be read by
// everybody who is sent it.
func checkPlatform() error {
	return misconfigured(codeBrowser,
		"backend apps only: a token that is delivered to a browser exposes the storage behind it")
}
