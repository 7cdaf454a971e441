package kvs

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

const longestIdle = 60 * time.Second // the gateway closes after 75 s

// connections is the pool of a table. Calls wait here before they are signed: a signature ages, and the limit of an
// attempt starts when it can be sent.
type connections struct {
	dialer dialer
	free   chan struct{}
	closed chan struct{}

	mutex sync.Mutex
	idle  []*connection // the most recently used one is last, and is used first
	open  map[*connection]struct{}
	sweep *time.Timer
}

func newConnections(dialer dialer, most int) *connections {
	pool := &connections{
		dialer: dialer,
		free:   make(chan struct{}, most),
		closed: make(chan struct{}),
		open:   map[*connection]struct{}{},
	}
	pool.sweep = time.AfterFunc(longestIdle, pool.closeIdle)
	pool.sweep.Stop()
	return pool
}

// acquire waits for the right to use a connection; release gives it back.
func (p *connections) acquire(ctx context.Context) *Error {
	if p.isClosed() {
		return closed()
	}
	select {
	case p.free <- struct{}{}:
		return nil
	default:
	}
	select {
	case p.free <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ended(ctx)
	case <-p.closed:
		return closed()
	}
}

func (p *connections) release() { <-p.free }

// exchange uses an idle connection or opens one.
func (p *connections) exchange(
	ctx context.Context, deadline time.Time, request *http.Request, read func(*http.Response) (answer, error),
) (answer, error) {
	connection, err := p.take(ctx, deadline)
	if err != nil {
		return answer{}, err
	}
	found, isKept, err := connection.exchange(ctx, deadline, request, read)
	if isKept {
		p.keep(connection)
	} else {
		p.drop(connection)
	}
	return found, err
}

func (p *connections) take(ctx context.Context, deadline time.Time) (*connection, error) {
	for connection := p.pop(); connection != nil; connection = p.pop() {
		if connection.isAlive() {
			return connection, nil
		}
		p.drop(connection)
	}
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	opened, err := p.dialer.dial(ctx)
	if err != nil {
		return nil, err
	}
	p.mutex.Lock()
	p.open[opened] = struct{}{}
	p.mutex.Unlock()
	if p.isClosed() { // close ran before the connection was added
		p.drop(opened)
		return nil, net.ErrClosed
	}
	return opened, nil
}

func (p *connections) pop() *connection {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if len(p.idle) == 0 {
		return nil
	}
	last := p.idle[len(p.idle)-1]
	p.idle = p.idle[:len(p.idle)-1]
	return last
}

func (p *connections) keep(connection *connection) {
	connection.idle = time.Now()
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if len(p.idle) == 0 {
		p.sweep.Reset(longestIdle)
	}
	p.idle = append(p.idle, connection)
}

func (p *connections) drop(connection *connection) {
	_ = connection.Close()
	p.mutex.Lock()
	defer p.mutex.Unlock()
	delete(p.open, connection)
}

// closeIdle closes connections that were idle for this time.
func (p *connections) closeIdle() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	kept := p.idle[:0]
	for _, connection := range p.idle {
		if time.Since(connection.idle) < longestIdle {
			kept = append(kept, connection)
			continue
		}
		_ = connection.Close()
		delete(p.open, connection)
	}
	clear(p.idle[len(kept):])
	p.idle = kept
	if len(kept) > 0 {
		p.sweep.Reset(longestIdle - time.Since(kept[0].idle))
	}
}
