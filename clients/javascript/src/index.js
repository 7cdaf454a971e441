/**
 * `kvs-client`: put, get and delete of the KVS Gateway.
 *
 * client       KvsClient: the calls
 * connecting   fromEnv and connect: from variables or settings to a client
 * settings     the options with their defaults, and what they may be
 * calls        a call: attempts, pauses, the deadline
 * retries      what is repeated, and after which pause
 * limit        what is known of the rate limit between two answers
 * deadline     the time of a call, and the caller's signal
 * signals      one listener for all calls that share a signal
 * slots        how many attempts are under way
 * signing      Signature V4
 * connections  the pool: one POST at a time on each connection
 * answers      from a response to a result or an error
 * json         JSON as bytes
 * flights      single flight
 * errors       what a call can come to; hints: what to do about it
 * runtime      where the client may run; refused: what it is elsewhere
 * testing      kvs-client/testing: a gateway for tests
 */

export { connect, fromEnv } from "./connecting.js";
export { KvsClient } from "./client.js";
export * from "./errors.js";

/** @typedef {import("./settings.js").Options} Options */
/** @typedef {import("./settings.js").Place} Place */
/** @typedef {import("./connecting.js").Source} Source */
/** @typedef {import("./signing.js").Credentials} Credentials */
/** @typedef {import("./calls.js").CallOptions} CallOptions */
/** @typedef {import("./client.js").Expiring} Expiring */
/**
 * @template T
 * @typedef {import("./answers.js").Entry<T>} Entry
 */
