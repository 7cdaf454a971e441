/** Creates clients from environment variables or from settings. */
import { KvsClient } from "./client.js";
export type Options = import("./settings.js").Options;
export type Place = import("./settings.js").Place;
export type Source = {
    /**
     * default: process.env
     */
    env?: Record<string, string | undefined> | undefined;
    /**
     * the first word of the three variables, default: `SERVICE`
     */
    variablePrefix?: string | undefined;
};
/** @typedef {import("./settings.js").Options} Options */
/** @typedef {import("./settings.js").Place} Place */
/**
 * @typedef {object} Source
 * @property {Record<string, string | undefined> | undefined} [env] default: process.env
 * @property {string | undefined} [variablePrefix] the first word of the three variables, default: `SERVICE`
 */
/**
 * Creates the client of a table from `SERVICE_KVS_URL`, `SERVICE_KVS_REGION` and `SERVICE_KVS_TOKEN_<TABLE>`.
 * @param {string} table
 * @param {Options & Source} [options]
 */
export declare function fromEnv(table: string, { env, variablePrefix, ...options }?: Options & Source): KvsClient;
/**
 * Creates the client of the table that a token belongs to.
 * @param {Place & Options} settings
 */
export declare function connect({ url, region, token, ...options }: Place & Options): KvsClient;
