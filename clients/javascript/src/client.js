/** The calls. */

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
 * @property {number | undefined} [ttlSeconds] until the entry expires; left out: the gateway's default, which is never
 */

/**
 * @template T
 * @typedef {import("./answers.js").Entry<T>} Entry
 */

const CALL_OPTIONS = { deadlineSeconds: 0, signal: 0 };
const PUT_OPTIONS = { ...CALL_OPTIONS, ttlSeconds: 0 };

/** A client of one table. `fromEnv` and `connect` make one; it may be shared by all that runs in the process. */
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
   * Stores a value, by the rules of JSON.stringify, in place of the one before and its expiry.
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
   * The entry, or undefined if there is none.
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
   * The entry with its value as the bytes that were stored.
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
   * The value of the key; if there is no entry, what `make` returns, which is put first. In one process it runs once
   * at a time for a key: callers that ask meanwhile get the same value, or the same error.
   * @template T
   * @param {string} key
   * @param {() => T | Promise<T>} make
   * @param {Expiring & CallOptions} [options] the deadline is that of the get, and of the put; `make` has none
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
   * A client that puts this before every key, and shares everything else with this one.
   * @param {string} prefix
   */
  withPrefix(prefix) {
    const settings = { ...this.#settings, prefix: this.#settings.prefix + prefix };
    return new KvsClient(this.#calls, settings, this.#flights);
  }

  /** Closes the connections; calls under way fail. */
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
    const tail = ttlSeconds === undefined ? "}" : `,"ttlSeconds":${JSON.stringify(ttlSeconds)}}`;
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
    throw new InvalidRequest({ code: "invalid_key", detail: `key: ${typeof key}, not a string` });
  }
}

/**
 * Waits for what others wait for, too, until the signal says so.
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
