package kvs

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// NoExpiry sends no TTL: the default of the gateway applies, which is no expiry unless configured.
const NoExpiry time.Duration = 0

// Client puts, gets and deletes the entries of one table. It is safe for concurrent use. Create it once and keep it: it
// holds the connections.
type Client struct {
	table    *table
	prefix   string
	deadline time.Duration
}

// Entry is the result of a get.
type Entry struct {
	Found     bool
	Value     json.RawMessage // the bytes that were put
	ExpiresAt time.Time       // zero if the entry does not expire
}

// FromEnv creates the client of a table from the variables SERVICE_KVS_URL, SERVICE_KVS_REGION and
// SERVICE_KVS_TOKEN_<TABLE>. Credentials come from the chain of the AWS SDK. The context applies to this call only.
func FromEnv(ctx context.Context, tableName string, options ...Option) (*Client, error) {
	if err := checkPlatform(); err != nil {
		return nil, err
	}
	chosen := defaults()
	for _, option := range options {
		option(&chosen)
	}
	if err := chosen.check(); err != nil {
		return nil, err
	}
	made, err := openTable(ctx, tableName, &chosen)
	if err != nil {
		return nil, err
	}
	return &Client{made, chosen.prefix, chosen.deadline}, nil
}

// WithPrefix returns a client that adds this prefix to every key, after the prefix of c. It shares everything with c.
func (c *Client) WithPrefix(prefix string) *Client {
	return &Client{c.table, c.prefix + prefix, c.deadline}
}

// WithDeadline returns a client whose calls have this deadline. It shares everything with c.
func (c *Client) WithDeadline(deadline time.Duration) *Client {
	return &Client{c.table, c.prefix, deadline}
}

// Put stores a value under a key, as encoding/json writes it, without the escapes for HTML. The TTL is cut
// to whole seconds; the gateway accepts 60 s to 365 days.
func (c *Client) Put(ctx context.Context, key string, value any, ttl time.Duration) error {
	encoded, err := encode(value)
	if err != nil {
		return named("put", err)
	}
	return c.put(ctx, key, encoded, ttl)
}

// PutRaw stores one JSON value, byte for byte.
func (c *Client) PutRaw(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	if _, err := checkRaw(value); err != nil {
		return named("put", err)
	}
	return c.put(ctx, key, value, ttl)
}

// Get decodes the value of a key into the variable that into points to, like json.Unmarshal: numbers beyond 2⁵³ lose
// digits in an any, but not in an int64, a json.Number or a json.RawMessage. A missing entry is no error and does not
// change the variable.
func (c *Client) Get(ctx context.Context, key string, into any) (Entry, error) {
	entry, err := c.get(ctx, key, func(value []byte) error { return decode(value, into) })
	if err != nil {
		return Entry{}, named("get", err)
	}
	return entry, nil
}

// GetRaw returns the value of a key as the bytes that were put.
func (c *Client) GetRaw(ctx context.Context, key string) (Entry, error) {
	entry, err := c.get(ctx, key, func(value []byte) error { _, err := checkRaw(value); return err })
	if err != nil {
		return Entry{}, named("get", err)
	}
	return entry, nil
}

// Delete removes the entry of a key, if there is one.
func (c *Client) Delete(ctx context.Context, key string) error {
	body, err := keyBody(c.prefix + key)
	if err == nil {
		err = c.confirm(ctx, "delete", body)
	}
	return named("delete", err)
}

// Close closes the connections of the client and of all that share them; pending calls fail.
func (c *Client) Close() { c.table.close() }

// Format prints the table and the host of the client, for every verb.
func (c Client) Format(state fmt.State, _ rune) {
	if c.table == nil {
		_, _ = io.WriteString(state, "kvs.Client()")
		return
	}
	fmt.Fprintf(state, "kvs.Client(%s of %s)", c.table.name, c.table.signer.address.url.Host)
}

func (c *Client) put(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	body, err := putBody(c.prefix+key, value, ttl)
	if err == nil {
		err = c.confirm(ctx, "put", body)
	}
	return named("put", err)
}
