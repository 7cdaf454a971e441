//go:build unix && !aix && !solaris && !illumos

package kvs

import (
	"net"
	"syscall"
)

// isSilent checks, without waiting, that the peer has neither closed the connection nor sent data. With TLS, the data
// may be an unread session ticket.
func isSilent(connection net.Conn, hasTLS bool) bool {
	raw, err := connection.(syscall.Conn).SyscallConn()
	if err != nil {
		return false
	}
	var length int
	var peeked error
	err = raw.Read(func(descriptor uintptr) bool {
		var next [1]byte
		length, _, peeked = syscall.Recvfrom(int(descriptor), next[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		return true
	})
	return err == nil && (peeked == syscall.EAGAIN || hasTLS && length > 0)
}
