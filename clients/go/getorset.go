package kvs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// GetOrSet returns the value of a key. If it is missing, it calls produce, puts what that returns and returns it.
//
// This is done once at a time for a key: who asks meanwhile, with whatever client of the table, gets the same value, or
// the same error. It is a get, produce, and a put, each of the two calls with a deadline of its own; produce has none. Its
// context has the values of ctx and does not end with it, because others may wait for the value. If ctx ends, the
// others still get it, and it is put. A value that cannot be put is an error. Processes do not know of each other: the
// last put stays.
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

// getOrSet returns the value as JSON, so that each of those who wait decodes one of its own.
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

// landing comes back even if the goroutine ends within run, as (*testing.T).FailNow ends it: singleflight would let
// those who wait wait for ever.
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

var errEnded = errors.New("kvs: the function that makes the value has ended its goroutine")

// panicked carries a panic of produce to the goroutines that wait, where those who called can recover from it.
type panicked struct {
	reason any
	stack  []byte
}

func (p *panicked) Error() string { return fmt.Sprintf("%v\n\n%s", p.reason, p.stack) }
