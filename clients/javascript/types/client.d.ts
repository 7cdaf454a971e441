/** KvsClient: the calls. */
import { Flights } from "./flights.js";
export type CallOptions = import("./calls.js").CallOptions;
export type Options = import("./settings.js").Options;
export type Expiring = {
    /**
     * seconds until the entry expires; default: that of the gateway, which is never unless configured
     */
    ttlSeconds?: number | undefined;
};
export type Entry<T> = import("./answers.js").Entry<T>;
/** A client of one table, created by `fromEnv` or `connect`, for the whole process. */
export declare class KvsClient {
    #private;
    /**
     * @param {import("./calls.js").Calls} calls
     * @param {Pick<import("./settings.js").Resolved, "prefix" | "parse" | "stringify">} settings
     * @param {Flights} [flights]
     */
    constructor(calls: import("./calls.js").Calls, settings: Pick<import("./settings.js").Resolved, "prefix" | "parse" | "stringify">, flights?: Flights);
    /**
     * Stores a value, by the rules of JSON.stringify. Replaces the previous value and its expiry.
     * @param {string} key
     * @param {unknown} value
     * @param {Expiring & CallOptions} [options]
     */
    put(key: string, value: unknown, options?: Expiring & CallOptions): Promise<void>;
    /**
     * Stores one JSON value byte for byte.
     * @param {string} key
     * @param {Uint8Array | string} json
     * @param {Expiring & CallOptions} [options]
     */
    putRaw(key: string, json: Uint8Array | string, options?: Expiring & CallOptions): Promise<void>;
    /**
     * Returns the entry, or undefined if there is none.
     * @template [T=any]
     * @param {string} key
     * @param {CallOptions} [options]
     * @returns {Promise<Entry<T> | undefined>}
     */
    get<T = any>(key: string, options?: CallOptions): Promise<Entry<T> | undefined>;
    /**
     * Returns the entry with its value as the stored bytes.
     * @param {string} key
     * @param {CallOptions} [options]
     * @returns {Promise<Entry<Uint8Array> | undefined>}
     */
    getRaw(key: string, options?: CallOptions): Promise<Entry<Uint8Array> | undefined>;
    /**
     * Removes the entry, if there is one.
     * @param {string} key
     * @param {CallOptions} [options]
     */
    delete(key: string, options?: CallOptions): Promise<void>;
    /**
     * Returns the value of the key; if there is no entry, puts and returns the result of `make`. In one process it runs
     * once at a time for a key: concurrent callers get the same value, or the same error.
     * @template T
     * @param {string} key
     * @param {() => T | Promise<T>} make
     * @param {Expiring & CallOptions} [options] the deadline applies to the get and to the put; `make` has none
     * @returns {Promise<T>}
     */
    getOrSet<T>(key: string, make: () => T | Promise<T>, { signal, ...options }?: Expiring & CallOptions): Promise<T>;
    /**
     * Returns a client that adds this prefix to every key, after its own prefix, and shares everything else.
     * @param {string} prefix
     */
    withPrefix(prefix: string): KvsClient;
    /** Closes the connections; pending calls fail. */
    close(): Promise<void>;
    [Symbol.asyncDispose](): Promise<void>;
    toJSON(): {
        url: string;
        region: string;
    };
}
