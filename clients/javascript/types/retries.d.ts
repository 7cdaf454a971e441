/** What is repeated, and after which pause. */
import { RateLimited, Unavailable } from "./errors.js";
/**
 * Put, get and delete are idempotent: whether the last attempt was applied makes no difference.
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
 * The pause before a repetition, or undefined if it would end after the deadline.
 *
 * Full jitter: uniform between 0 and an exponential bound. After `Retry-After` the random part comes on top, so that
 * those who were told the same end do not come back at one instant.
 *
 * @param {Situation} situation
 * @param {Backoff} backoff
 */
export declare function pauseSeconds({ repetition, retryAfterSeconds, remainingSeconds, random }: Situation, backoff: Backoff): number | undefined;
/**
 * Whole seconds; anything else is as if it were not there.
 * @param {string | undefined} field
 */
export declare function retryAfterSecondsOf(field: string | undefined): number | undefined;
