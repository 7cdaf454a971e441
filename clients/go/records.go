package kvs

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
)

const recordHeadBytes = 5 // type, version and length

// records is the connection below TLS. It gives TLS one record at a time: crypto/tls would read ahead, and nobody could
// see that a server has sent more than its answer.
type records struct {
	net.Conn
	reader *bufio.Reader
	left   int // bytes of the current record that TLS has not read
}

func newRecords(plain net.Conn) *records {
	return &records{Conn: plain, reader: bufio.NewReaderSize(plain, bufferBytes)}
}

func (r *records) Read(into []byte) (int, error) {
	if r.left == 0 {
		head, err := r.reader.Peek(recordHeadBytes)
		if err == io.EOF && len(head) > 0 {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return 0, err
		}
		r.left = recordHeadBytes + int(binary.BigEndian.Uint16(head[3:]))
	}
	length, err := r.reader.Read(into[:min(len(into), r.left)])
	r.left -= length
	return length, err
}

// isEmpty reports that TLS has read all that has left the socket.
func (r *records) isEmpty() bool { return r.left == 0 && r.reader.Buffered() == 0 }
