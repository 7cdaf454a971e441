/** From a response to a result or an error. */
import { InvalidAnswer, InvalidRequest, NotAuthorized, RateLimited, Unavailable } from "./errors.js";
export type Response = import("./connections.js").Response;
export type Facts = import("./errors.js").Facts;
export type Entry<T> = {
    value: T;
    /**
     * null: never
     */
    expiresAt: Date | null;
};
export type Found = {
    value: unknown;
    text: Buffer;
    expiresAt: Date | null;
};
/** What a put and a delete are answered with, by the name of its only field. @param {Response} response @param {string} name */
export declare function requireDone(response: Response, name: string): void;
/** What a get is answered with; undefined if there is no entry. @param {Response} response @returns {Found | undefined} */
export declare function foundIn(response: Response): Found | undefined;
/** The value's own bytes. @param {Found} found */
export declare function rawValueOf({ text }: Found): Buffer<ArrayBufferLike>;
/**
 * The error that a response other than 200 is.
 * @param {Response} response
 * @param {(string | undefined)[]} secrets which the answer may repeat, and the error must not
 */
export declare function refusalIn(response: Response, secrets: (string | undefined)[]): InvalidAnswer | InvalidRequest | NotAuthorized | RateLimited | Unavailable;
