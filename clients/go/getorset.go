package kvs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// GetOrSet returns the value of a key. If it is missing, it puts and returns the result of produce.
//
// It runs once at a time for a key: concurrent callers, with any client of the table, get the same value or the same
// error. The get and the put have a deadline each; produce has none. The context of produce has the values of ctx but
// does not end with it, because others may wait for the value: cancelling one waiter does not affect the others. A value
// that cannot be put is an error. Processes are not coordinated: the last put wins.
func GetOrSet[T any](
	ctx context.Context, c *Client, key string, ttl time.Duration, produce func(context.Context) (T, error),
) (T, error) {
	var value T
	flight := c.table.flights.DoChan(c.prefix+key, func() (any, error) {
		return landing(func() (json.RawMessage, error) {
			return c.getOrSet(context.WithoutCancel(ctx), key, ttl, func(ctx context.Context) (any, error) { return produce(ctx) })
		})
	})
	select {
	case <-ctx.Done():
		return value, named("get_or_set", ended(ctx))
	case landed := <-flight:
		if panicked, is := landed.Err.(*panicked); is {
			panic(panicked)
		}
		if landed.Err != nil {
			return value, landed.Err
		}
		return value, named("get_or_set", decode(landed.Val.(json.RawMessage), &value))
	}
}

// getOrSet returns the value as JSON, so that each waiter decodes its own copy.
func (c *Client) getOrSet(
	ctx context.Context, key string, ttl time.Duration, produce func(context.Context) (any, error),
) (value json.RawMessage, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = &panicked{reason, debug.Stack()}
		}
	}()
	entry, err := c.GetRaw(ctx, key)
	if err != nil || entry.Found {
		return entry.Value, err
	}
	produced, err := produce(ctx)
	if err != nil {
		return nil, err
	}
	encoded, err := encode(produced)
	if err != nil {
		return nil, named("put", err)
	}
	return encoded, c.put(ctx, key, encoded, ttl)
}

// landing returns even if run ends its goroutine, as (*testing.T).FailNow does: with singleflight alone, the waiters
// would never return.
func landing(run func() (json.RawMessage, error)) (value json.RawMessage, err error) {
	err = errEnded
	done := make(chan struct{})
	go func() {
		defer close(done)
		value, err = run()
	}()
	<-done
	return value, err
}

var errEnded = errors.New("kvs: the function that produces the value ended its goroutine")

// panicked carries a panic of produce to the waiting goroutines, whose callers can recover from it.
type panicked struct {
	reason any
	stack  []byte
}

func (p *panicked) Error() string { return fmt.Sprintf("%v\n\n%s", p.reason, p.stack) }
