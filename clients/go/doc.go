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
// They are found as every AWS SDK finds them (variables, shared files, web identity, container and instance roles),
// and refreshed. Each request is signed anew with the SDK's signer.
//
// # Deadlines and repetition
//
// A call ends by its context or after 10 seconds, whatever happens. Within that time it is repeated if nothing was
// answered or the answer is 429, 502, 503 or 504, with pauses that are random and at least as long as Retry-After says.
// Put, get and delete are idempotent: each is repeated, even if the attempt before may have been applied. A put that
// was cut off and repeated can overwrite what another client put in between; callers that cannot have that use
// [Client.WithDeadline] with the time of one attempt (5 seconds) or less.
//
// After a 429 the client sends nothing for this table until Retry-After is over. Calls whose deadline is earlier fail
// at once.
//
// # Errors
//
// All errors of calls are an [*Error] with status, code, detail and request id, and say what to do. errors.Is tells
// their kind, such as [ErrRateLimited]. They have no token, secret, key or value in them.
package kvs

// Version of this package.
const Version = "0.2.0"
