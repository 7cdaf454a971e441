package kvs

import (
	"context"
	"time"
)

// pause waits before a retry, without holding a connection.
func (p *connections) pause(ctx context.Context, pause time.Duration) *Error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ended(ctx)
	case <-p.closed:
		return closed()
	}
}

// close closes the pool: waiting calls fail, and pending exchanges lose their connection.
func (p *connections) close() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.isClosed() {
		return
	}
	close(p.closed)
	p.sweep.Stop()
	for connection := range p.open {
		_ = connection.Close()
	}
}

func (p *connections) isClosed() bool {
	select {
	case <-p.closed:
		return true
	default:
		return false
	}
}
