/**
 * Replaces the client in bundles for browsers and edge workers: the same names, without modules of Node, whose absence
 * would fail before the reason could be given.
 */
export * from "./errors.js";
export declare function fromEnv(): void;
export declare function connect(): void;
export declare class KvsClient {
    constructor();
}
