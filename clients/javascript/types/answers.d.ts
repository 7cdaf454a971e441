/** Converts a response to a result or an error. */
import { InvalidAnswer, InvalidRequest, NotAuthorized, RateLimited, Unavailable } from "./errors.js";
export type Response = import("./connections.js").Response;
export type Facts = import("./errors.js").Facts;
export type Entry<T> = {
    value: T;
    /**
     * null if it never expires
     */
    expiresAt: Date | null;
};
export type Found = {
    value: unknown;
    text: Buffer;
    expiresAt: Date | null;
};
/** Checks the answer to a put or a delete, which has one field of this name. @param {Response} response @param {string} name */
export declare function requireDone(response: Response, name: string): void;
/** Reads the answer to a get; undefined if there is no entry. @param {Response} response @returns {Found | undefined} */
export declare function foundIn(response: Response): Found | undefined;
/** Returns the value as the stored bytes. @param {Found} found */
export declare function rawValueOf({ text }: Found): Buffer<ArrayBufferLike>;
/**
 * Converts a response other than 200 to an error.
 * @param {Response} response
 * @param {(string | undefined)[]} secrets of the request, which the error never contains even if the answer does
 */
export declare function refusalIn(response: Response, secrets: (string | undefined)[]): InvalidAnswer | InvalidRequest | NotAuthorized | RateLimited | Unavailable;
