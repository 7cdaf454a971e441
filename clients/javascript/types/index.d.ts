/**
 * `kvs-client`: put, get and delete of the KVS Gateway.
 *
 * client           KvsClient: the calls
 * connecting       fromEnv and connect create a client from variables or settings
 * settings         the options with their defaults and checks
 * calls            a call: attempts, pauses, the deadline
 * retries          retries of a call, and the pauses before them
 * rate-limit-gate  no requests after a 429 until its Retry-After has passed
 * deadline         the deadline of a call, and the caller's signal
 * signals          one listener for all calls that share a signal
 * slots            a semaphore for attempts
 * signing          Signature V4
 * connections      the pool: one POST at a time on each connection; informational: answers before the final one
 * answers          converts a response to a result or an error
 * json             JSON as bytes
 * flights          single flight
 * errors           the errors of calls; hints: the advice on each
 * runtime          refuses browsers and edge workers; refused: the package there
 * testing          kvs-client/testing: a gateway for tests
 */
export { connect, fromEnv } from "./connecting.js";
export { KvsClient } from "./client.js";
export * from "./errors.js";
export type Options = import("./settings.js").Options;
export type Place = import("./settings.js").Place;
export type Source = import("./connecting.js").Source;
export type Credentials = import("./signing.js").Credentials;
export type CallOptions = import("./calls.js").CallOptions;
export type Expiring = import("./client.js").Expiring;
export type Entry<T> = import("./answers.js").Entry<T>;
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
