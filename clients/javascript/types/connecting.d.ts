/** From an environment's variables, or settings, to a client. */
import { KvsClient } from "./client.js";
export type Options = import("./settings.js").Options;
export type Place = import("./settings.js").Place;
export type Source = {
    /**
     * process.env
     */
    env?: Record<string, string | undefined> | undefined;
    /**
     * `SERVICE`: the first word of the three variables
     */
    variablePrefix?: string | undefined;
};
/** @typedef {import("./settings.js").Options} Options */
/** @typedef {import("./settings.js").Place} Place */
/**
 * @typedef {object} Source
 * @property {Record<string, string | undefined> | undefined} [env] process.env
 * @property {string | undefined} [variablePrefix] `SERVICE`: the first word of the three variables
 */
/**
 * A client of a table, from `SERVICE_KVS_URL`, `SERVICE_KVS_REGION` and `SERVICE_KVS_TOKEN_<TABLE>`.
 * @param {string} table
 * @param {Options & Source} [options]
 */
export declare function fromEnv(table: string, { env, variablePrefix, ...options }?: Options & Source): KvsClient;
/**
 * A client of the table of a token.
 * @param {Place & Options} settings
 */
export declare function connect({ url, region, token, ...options }: Place & Options): KvsClient;
