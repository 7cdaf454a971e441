// Package kvs puts, gets and deletes the entries of a table of the KVS gateway.
//
//	notes, err := kvs.FromEnv(ctx, "notes")
//	...
//	err = notes.Put(ctx, "greeting", Greeting{"hello"}, time.Hour)
//
//	var greeting Greeting
//	entry, err := notes.Get(ctx, "greeting", &greeting) // entry.Found, entry.ExpiresAt
//
//	err = notes.Delete(ctx, "greeting")
//
// # Credentials
//
// They come from the chain of the AWS SDK (variables, shared files, web identity, container and instance roles),
// and refreshed. Each request is signed anew with the SDK's signer.
//
// # Deadlines and retries
//
// A call ends with its context or after 10 seconds. Within that time it is retried if there was no answer or the answer
// is 429, 502, 503 or 504, with random pauses that are not shorter than Retry-After. Put, get and delete are
// idempotent: each is retried even if the last attempt may have been applied. A retried put can overwrite a newer value
// from another client; to prevent this, use [Client.WithDeadline] with the limit of one attempt (5 seconds) or less.
//
// After a 429 the client sends nothing for this table until Retry-After has passed. Calls with an earlier deadline fail
// immediately.
//
// # Errors
//
// Every error of a call is an [*Error] with status, code, detail, request id and advice. Use errors.Is for its kind, such
// as [ErrRateLimited]. Errors contain no token, secret, key or value.
package kvs

// Version of this package.
const Version = "0.2.0"
