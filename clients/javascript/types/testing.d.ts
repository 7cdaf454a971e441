/** `kvs-client/testing`: runs `kvs-gateway dev`, a gateway in memory, for tests. */
export type Variables = Record<string, string>;
export type ChildProcess = import("node:child_process").ChildProcess;
/** @typedef {Record<string, string>} Variables */
/** @typedef {import("node:child_process").ChildProcess} ChildProcess */
/**
 * Starts a gateway and waits until it listens. Ends with `stop()`, `await using` or the process.
 * @param {object} [options]
 * @param {string[]} [options.tables] further tables than `sessions`
 * @param {string[]} [options.command] default: the words of `KVS_GATEWAY_COMMAND`, or `kvs-gateway`
 * @returns {Promise<Gateway>}
 */
export declare function startGateway({ tables, command }?: {
    tables?: string[];
    command?: string[];
}): Promise<Gateway>;
/** A running gateway. */
declare class Gateway {
    #private;
    /** The environment variables of an app and its caller. */
    variables: Variables;
    /** @param {ChildProcess} child @param {Variables} variables */
    constructor(child: ChildProcess, variables: Variables);
    /** Creates the client of a table. @param {string} [table] @param {import("./settings.js").Options} [options] */
    open(table?: string, options?: import("./settings.js").Options): import("./client.js").KvsClient;
    /** Creates tables, and adds their variables. @param {string[]} tables */
    create(tables: string[]): Promise<void>;
    stop(): Promise<void>;
    [Symbol.asyncDispose](): Promise<void>;
}
export {};
