/** Retries of a call, and the pauses before them. */
import { RateLimited, Unavailable } from "./errors.js";
/**
 * Checks whether to retry. Put, get and delete are idempotent, so it does not matter if the last attempt was applied.
 * @param {unknown} error
 * @returns {error is RateLimited | Unavailable}
 */
export declare function isRepeated(error: unknown): error is RateLimited | Unavailable;
export type Backoff = {
    backoffBaseSeconds: number;
    backoffCapSeconds: number;
};
export type Situation = {
    /**
     * from 0
     */
    repetition: number;
    retryAfterSeconds: number | undefined;
    remainingSeconds: number;
    /**
     * 0 to 1
     */
    random: number;
};
/**
 * @typedef {object} Backoff
 * @property {number} backoffBaseSeconds
 * @property {number} backoffCapSeconds
 */
/**
 * @typedef {object} Situation
 * @property {number} repetition from 0
 * @property {number | undefined} retryAfterSeconds
 * @property {number} remainingSeconds
 * @property {number} random 0 to 1
 */
/**
 * Returns the pause before a retry, or undefined if it would end after the deadline.
 *
 * Full jitter: uniform between 0 and an exponential bound. A random part is added to `Retry-After`, so that clients
 * that got the same one do not all retry at once.
 *
 * @param {Situation} situation
 * @param {Backoff} backoff
 */
export declare function pauseSeconds({ repetition, retryAfterSeconds, remainingSeconds, random }: Situation, backoff: Backoff): number | undefined;
/**
 * Parses whole seconds; anything else is ignored.
 * @param {string | undefined} field
 */
export declare function retryAfterSecondsOf(field: string | undefined): number | undefined;
