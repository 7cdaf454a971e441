/** `kvs-client/testing`: a gateway of its own for tests, `kvs-gateway dev`, on memory and gone afterwards. */
export type Variables = Record<string, string>;
export type ChildProcess = import("node:child_process").ChildProcess;
/** @typedef {Record<string, string>} Variables */
/** @typedef {import("node:child_process").ChildProcess} ChildProcess */
/**
 * Starts a gateway and waits until it listens. Ended by `stop()`, by `await using`, and with the process.
 * @param {object} [options]
 * @param {string[]} [options.tables] further tables than `sessions`
 * @param {string[]} [options.command] default: the words of `KVS_GATEWAY_COMMAND`, or `kvs-gateway`
 * @returns {Promise<Gateway>}
 */
export declare function startGateway({ tables, command }?: {
    tables?: string[];
    command?: string[];
}): Promise<Gateway>;
/** A gateway that runs. */
declare class Gateway {
    #private;
    /** What an app and its caller find in their environment. */
    variables: Variables;
    /** @param {ChildProcess} child @param {Variables} variables */
    constructor(child: ChildProcess, variables: Variables);
    /** A client of a table. @param {string} [table] @param {import("./settings.js").Options} [options] */
    open(table?: string, options?: import("./settings.js").Options): import("./client.js").KvsClient;
    /** Adds tables, and their variables. @param {string[]} tables */
    create(tables: string[]): Promise<void>;
    stop(): Promise<void>;
    [Symbol.asyncDispose](): Promise<void>;
}
export {};
