/**
 * What bundles for browsers and edge workers get instead of the client: the same names, and none of Node's modules,
 * which would be missed before anything could be explained.
 */
export * from "./errors.js";
export declare function fromEnv(): void;
export declare function connect(): void;
export declare class KvsClient {
    constructor();
}
