/**
 * Errors of calls.
 *
 *     KvsError
 *       ConfigurationError   the client cannot be created
 *       InvalidRequest       the request is invalid: a retry fails in the same way
 *       NotAuthorized        the gateway did not accept the signature, the role or the token
 *       RateLimited          the limit of the table or app environment is used up
 *       Unavailable          the gateway cannot be reached, or cannot serve the request
 *       DeadlineExceeded     no answer arrived before the deadline
 *       InvalidAnswer        the answer did not come from the gateway, or was changed on its way
 *
 * No error contains a token, a secret, a key, a value or another error, which might.
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
/** Names are literals: a minified bundle renames classes. */
export declare class KvsError extends Error {
    /** The HTTP status; undefined if there was no answer. */
    status: number | undefined;
    /** The code of the error, for programs. */
    code: string;
    /** An explanation by the gateway or by the client, for people. */
    detail: string;
    /** The `x-request-id` of the answer, for questions to the operator. */
    requestId: string | undefined;
    /** Advice on what to do. */
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
    /** Seconds until the window of the limit ends; undefined if the answer had none. */
    retryAfterSeconds: number | undefined;
    name: string;
    /** @param {TimedFacts} facts */
    constructor({ retryAfterSeconds, ...facts }: TimedFacts);
}
export declare class Unavailable extends KvsError {
    /** Seconds until a retry; undefined if the answer had none. */
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
