//go:build !js && !wasip1

package kvs

// checkPlatform refuses platforms on which a token cannot be kept secret.
func checkPlatform() error { return nil }
