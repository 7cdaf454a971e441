/**
 * What a call can come to beside its result.
 *
 *     KvsError
 *       ConfigurationError   the client cannot be made
 *       InvalidRequest       this call can never succeed
 *       NotAuthorized        signature, role or token
 *       RateLimited          the limit of the table or of the app environment
 *       Unavailable          the gateway, or the way to it
 *       DeadlineExceeded     the call's own time is over
 *       InvalidAnswer        this is not the gateway, or something changed its answer
 *
 * None holds a token, a secret, a key, a value or another error, which might.
 */
export type Facts = {
    code: string;
    detail: string;
    status?: number | undefined;
    requestId?: string | undefined;
};
/**
 * @typedef {object} Facts
 * @property {string} code
 * @property {string} detail
 * @property {number | undefined} [status]
 * @property {string | undefined} [requestId]
 */
/** Names are written down: in a minified bundle a class has another one. */
export declare class KvsError extends Error {
    /** The HTTP status; undefined if nothing was answered. */
    status: number | undefined;
    /** What went wrong, for programs. */
    code: string;
    /** What went wrong, for people: what the gateway says, or what the client found. */
    detail: string;
    /** The answer's `x-request-id`, to ask the operator about. */
    requestId: string | undefined;
    /** What to do. */
    hint: string;
    name: string;
    /** @param {Facts} facts */
    constructor({ code, detail, status, requestId }: Facts);
    toJSON(): {
        name: string;
        status: number | undefined;
        code: string;
        detail: string;
        requestId: string | undefined;
        hint: string;
    };
}
export declare class ConfigurationError extends KvsError {
    name: string;
}
export declare class InvalidRequest extends KvsError {
    name: string;
}
export declare class NotAuthorized extends KvsError {
    name: string;
}
export type TimedFacts = Facts & {
    retryAfterSeconds?: number | undefined;
};
/** @typedef {Facts & {retryAfterSeconds?: number | undefined}} TimedFacts */
export declare class RateLimited extends KvsError {
    /** When the limit's window ends; undefined if the answer did not say. */
    retryAfterSeconds: number | undefined;
    name: string;
    /** @param {TimedFacts} facts */
    constructor({ retryAfterSeconds, ...facts }: TimedFacts);
}
export declare class Unavailable extends KvsError {
    /** When to ask again; undefined if the answer did not say. */
    retryAfterSeconds: number | undefined;
    name: string;
    /** @param {TimedFacts} facts */
    constructor({ retryAfterSeconds, ...facts }: TimedFacts);
}
export declare class DeadlineExceeded extends KvsError {
    name: string;
}
export declare class InvalidAnswer extends KvsError {
    name: string;
}
