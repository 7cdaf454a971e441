package kvs

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"
)

const (
	headBytes   = 32 << 10 // limit of the head of an answer, with all informational ones before it
	bufferBytes = 4 << 10
)

var (
	errHeadTooLong = errors.New("the head of the answer is too long")
	past           = time.Unix(1, 0)
)

// connection carries one exchange at a time, in the goroutine of the call. The transport of net/http has two goroutines
// per connection, which cost more than the rest of a call (D208). Requests and the parser of responses are those of
// net/http.
type connection struct {
	net.Conn
	plain  net.Conn // below TLS
	below  *records // nil without TLS
	reader *bufio.Reader
	writer *bufio.Writer
	bound  *bounded
	idle   time.Time
}

// dialer opens connections. It uses no proxy: the token goes only to the gateway.
type dialer struct {
	address string
	tls     *tls.Config
}

func newDialer(base *url.URL) dialer {
	port := base.Port()
	if base.Scheme == "http" {
		if port == "" {
			port = "80"
		}
		return dialer{address: net.JoinHostPort(base.Hostname(), port)}
	}
	if port == "" {
		port = "443"
	}
	return dialer{net.JoinHostPort(base.Hostname(), port), &tls.Config{
		ServerName:         base.Hostname(),
		MinVersion:         tls.VersionTLS12,
		NextProtos:         []string{"http/1.1"},
		ClientSessionCache: tls.NewLRUClientSessionCache(0),
	}}
}

func (d dialer) dial(ctx context.Context) (*connection, error) {
	plain, err := (&net.Dialer{}).DialContext(ctx, "tcp", d.address)
	if err != nil {
		return nil, err
	}
	opened := plain
	var below *records
	if d.tls != nil {
		below = newRecords(plain)
		secured := tls.Client(below, d.tls)
		if err := secured.HandshakeContext(ctx); err != nil {
			_ = plain.Close()
			return nil, err
		}
		opened = secured
	}
	bound := &bounded{from: opened}
	return &connection{
		Conn:   opened,
		plain:  plain,
		below:  below,
		reader: bufio.NewReaderSize(bound, bufferBytes),
		writer: bufio.NewWriterSize(opened, bufferBytes),
		bound:  bound,
	}, nil
}

// exchange sends a request and reads its answer, until the deadline or the end of the context. It also returns whether
// the connection can be reused.
func (c *connection) exchange(
	ctx context.Context, deadline time.Time, request *http.Request, read func(*http.Response) (answer, error),
) (found answer, isKept bool, err error) {
	if err := c.SetDeadline(deadline); err != nil {
		return answer{}, false, err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(past) })
	defer func() { isKept = stop() && isKept }()
	sent := request.Write(c.writer)
	if sent == nil {
		sent = c.writer.Flush()
	}
	// A gateway that refuses a long body answers before it has read all of it.
	response, err := c.readHead(request)
	if err != nil {
		return answer{}, false, errors.Join(sent, err)
	}
	found, err = read(response)
	isKept = sent == nil && err == nil && found.isWhole && !response.Close && c.reader.Buffered() == 0
	return found, isKept, err
}

func (c *connection) readHead(request *http.Request) (*http.Response, error) {
	c.bound.left = headBytes
	for {
		response, err := http.ReadResponse(c.reader, request)
		if err != nil {
			return nil, err
		}
		if response.StatusCode >= http.StatusOK || response.StatusCode == http.StatusSwitchingProtocols {
			c.bound.left = math.MaxInt
			return response, nil
		}
	}
}

// isAlive reports that the gateway has neither closed the connection nor sent data since the last answer.
func (c *connection) isAlive() bool {
	if time.Since(c.idle) >= longestIdle || c.below != nil && !c.hasReadAll() {
		return false
	}
	// The deadline of the last exchange may have passed, and would make the check of isSilent fail.
	return c.SetReadDeadline(time.Time{}) == nil && isSilent(c.plain)
}

// hasReadAll reports that TLS keeps no data which has already left the socket. With a deadline in the past a read
// returns such data, or the timeout, and leaves the socket alone.
func (c *connection) hasReadAll() bool {
	if c.SetReadDeadline(past) != nil || !c.below.isEmpty() {
		return false
	}
	var next [1]byte
	length, err := c.Conn.Read(next[:])
	return length == 0 && errors.Is(err, os.ErrDeadlineExceeded)
}

// bounded is a reader with a limit.
type bounded struct {
	from net.Conn
	left int
}

func (b *bounded) Read(into []byte) (int, error) {
	if b.left <= 0 {
		return 0, errHeadTooLong
	}
	read, err := b.from.Read(into[:min(len(into), b.left)])
	b.left -= read
	return read, err
}
