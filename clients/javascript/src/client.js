/** KvsClient: the calls. */

import { foundIn, rawValueOf, requireDone } from "./answers.js";
import { InvalidRequest } from "./errors.js";
import { Flights } from "./flights.js";
import { jsonOf, rawJson } from "./json.js";
import { requireKnown, requirePositive } from "./settings.js";
import { onAbort } from "./signals.js";

/** @typedef {import("./calls.js").CallOptions} CallOptions */
/** @typedef {import("./settings.js").Options} Options */

/**
 * @typedef {object} Expiring
 * @property {number | undefined} [ttlSeconds] seconds until the entry expires; default: that of the gateway, which is never unless configured
 */

/**
 * @template T
 * @typedef {import("./answers.js").Entry<T>} Entry
 */

const CALL_OPTIONS = { deadlineSeconds: 0, signal: 0 };
const PUT_OPTIONS = { ...CALL_OPTIONS, ttlSeconds: 0 };

/** A client of one table, created by `fromEnv` or `connect`, for the whole process. */
export class KvsClient {
  #calls;
  #settings;
  #flights;

  /**
   * @param {import("./calls.js").Calls} calls
   * @param {Pick<import("./settings.js").Resolved, "prefix" | "parse" | "stringify">} settings
   * @param {Flights} [flights]
   */
  constructor(calls, settings, flights = new Flights()) {
    this.#calls = calls;
    this.#settings = settings;
    this.#flights = flights;
  }

  /**
   * Stores a value, by the rules of JSON.stringify. Replaces the previous value and its expiry.
   * @param {string} key
   * @param {unknown} value
   * @param {Expiring & CallOptions} [options]
   */
  async put(key, value, options = {}) {
    await this.#put(key, jsonOf(value, this.#settings.stringify), options);
  }

  /**
   * Stores one JSON value byte for byte.
   * @param {string} key
   * @param {Uint8Array | string} json
   * @param {Expiring & CallOptions} [options]
   */
  async putRaw(key, json, options = {}) {
    await this.#put(key, rawJson(json), options);
  }

  /**
   * Returns the entry, or undefined if there is none.
   * @template [T=any]
   * @param {string} key
   * @param {CallOptions} [options]
   * @returns {Promise<Entry<T> | undefined>}
   */
  async get(key, options = {}) {
    const found = await this.#get(key, options);
    if (found === undefined) return undefined;
    const { parse } = this.#settings;
    const value = parse === JSON.parse ? found.value : parse(rawValueOf(found).toString());
    return { value: /** @type {T} */ (value), expiresAt: found.expiresAt };
  }

  /**
   * Returns the entry with its value as the stored bytes.
   * @param {string} key
   * @param {CallOptions} [options]
   * @returns {Promise<Entry<Uint8Array> | undefined>}
   */
  async getRaw(key, options = {}) {
    const found = await this.#get(key, options);
    return found && { value: new Uint8Array(rawValueOf(found)), expiresAt: found.expiresAt };
  }

  /**
   * Removes the entry, if there is one.
   * @param {string} key
   * @param {CallOptions} [options]
   */
  async delete(key, options = {}) {
    requireDone(await this.#make("delete", key, options), "deleted");
  }

  /**
   * Returns the value of the key; if there is no entry, puts and returns the result of `make`. In one process it runs
   * once at a time for a key: concurrent callers get the same value, or the same error.
   * @template T
   * @param {string} key
   * @param {() => T | Promise<T>} make
   * @param {Expiring & CallOptions} [options] the deadline applies to the get and to the put; `make` has none
   * @returns {Promise<T>}
   */
  async getOrSet(key, make, { signal, ...options } = {}) {
    requireKnown(options, PUT_OPTIONS);
    signal?.throwIfAborted();
    const { ttlSeconds: _, ...ofGet } = options;
    const flight = this.#flights.join(this.#settings.prefix + key, async () => {
      const entry = await this.get(key, ofGet);
      if (entry !== undefined) return entry.value;
      const value = await make();
      await this.put(key, value, options);
      return value;
    });
    return signal === undefined ? flight : leaving(flight, signal);
  }

  /**
   * Returns a client that adds this prefix to every key, after its own prefix, and shares everything else.
   * @param {string} prefix
   */
  withPrefix(prefix) {
    const settings = { ...this.#settings, prefix: this.#settings.prefix + prefix };
    return new KvsClient(this.#calls, settings, this.#flights);
  }

  /** Closes the connections; pending calls fail. */
  async close() {
    await this.#calls.close();
  }

  async [Symbol.asyncDispose]() {
    await this.close();
  }

  toJSON() {
    return { url: this.#calls.url, region: this.#calls.region };
  }

  [Symbol.for("nodejs.util.inspect.custom")]() {
    return `KvsClient ${JSON.stringify(this)}`;
  }

  /** @param {string} key @param {Buffer} value @param {Expiring & CallOptions} options */
  async #put(key, value, options) {
    requireKnown(options, PUT_OPTIONS);
    const { ttlSeconds, ...ofCall } = options;
    const tail = ttlSeconds === undefined ? "}" : `,"ttlSeconds":${ttlText(ttlSeconds)}}`;
    const head = `{"key":${this.#keyText(key)},"value":`;
    const body = Buffer.concat([Buffer.from(head), value, Buffer.from(tail)]);
    requireDone(await this.#call("put", body, ofCall), "ok");
  }

  /** @param {string} key @param {CallOptions} options */
  async #get(key, options) {
    return foundIn(await this.#make("get", key, options));
  }

  /** @param {"get" | "delete"} operation @param {string} key @param {CallOptions} options */
  #make(operation, key, options) {
    return this.#call(operation, Buffer.from(`{"key":${this.#keyText(key)}}`), options);
  }

  /** @param {import("./calls.js").Operation} operation @param {Buffer} body @param {CallOptions} options */
  #call(operation, body, options) {
    requireKnown(options, CALL_OPTIONS);
    if (options.deadlineSeconds !== undefined) requirePositive("deadlineSeconds", options.deadlineSeconds);
    return this.#calls.make(operation, body, options);
  }

  /** @param {string} key */
  #keyText(key) {
    if (typeof key === "string") return JSON.stringify(this.#settings.prefix + key);
    throw new InvalidRequest({ code: "invalid_key", detail: `key: expected a string, not ${typeof key}` });
  }
}

/** Refuses values that JSON would change or cannot carry. @param {unknown} seconds */
function ttlText(seconds) {
  if (typeof seconds === "number" && Number.isFinite(seconds)) return JSON.stringify(seconds);
  throw new InvalidRequest({ code: "invalid_ttl", detail: "ttlSeconds: expected a whole number of seconds" });
}

/**
 * Waits for a shared promise until the signal is aborted. Cancelling one waiter does not affect the others.
 * @template T
 * @param {Promise<T>} shared
 * @param {AbortSignal} signal
 * @returns {Promise<T>}
 */
async function leaving(shared, signal) {
  let leave = () => {};
  const left = new Promise((_, reject) => {
    leave = onAbort(signal, () => reject(signal.reason));
  });
  try {
    return /** @type {T} */ (await Promise.race([shared, left]));
  } finally {
    leave();
  }
}
