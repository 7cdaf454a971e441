//go:build unix && !aix && !solaris && !illumos

package kvs

import (
	"net"
	"syscall"
)

// isSilent checks, without waiting, that the peer has neither closed the connection nor sent data.
func isSilent(connection net.Conn) bool {
	raw, err := connection.(syscall.Conn).SyscallConn()
	if err != nil {
		return false
	}
	var peeked error
	err = raw.Read(func(descriptor uintptr) bool {
		var next [1]byte
		_, _, peeked = syscall.Recvfrom(int(descriptor), next[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		return true
	})
	return err == nil && peeked == syscall.EAGAIN
}
