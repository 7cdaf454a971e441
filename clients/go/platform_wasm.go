//go:build js || wasip1

package kvs

// checkPlatform refuses platforms on which a token cannot be kept secret: everybody who receives a WebAssembly program
// can read it.
func checkPlatform() error {
	return misconfigured(codeBrowser,
		"backend apps only: a token that is delivered to a browser exposes the storage behind it")
}
