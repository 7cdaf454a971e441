/** What is repeated, and after which pause. */

import { RateLimited, Unavailable } from "./errors.js";

/** Answers of a gateway, or of what is in front of it, that another attempt may get past. */
const REPEATED = new Set([429, 502, 503, 504]);

/**
 * Put, get and delete are idempotent: whether the last attempt was applied makes no difference.
 * @param {unknown} error
 * @returns {error is RateLimited | Unavailable}
 */
export function isRepeated(error) {
  if (!(error instanceof RateLimited || error instanceof Unavailable)) return false;
  return error.status === undefined || REPEATED.has(error.status);
}

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
export function pauseSeconds({ repetition, retryAfterSeconds, remainingSeconds, random }, backoff) {
  const { backoffBaseSeconds, backoffCapSeconds } = backoff;
  if (retryAfterSeconds === undefined) {
    const pause = random * Math.min(backoffCapSeconds, backoffBaseSeconds * 2 ** repetition);
    return pause < remainingSeconds ? pause : undefined;
  }
  const left = remainingSeconds - retryAfterSeconds;
  if (left <= 0) return undefined;
  const spread = random * backoffCapSeconds;
  return retryAfterSeconds + (spread < left ? spread : left / 2);
}

const LONGEST_RETRY_AFTER_SECONDS = 86_400;

/**
 * Whole seconds; anything else is as if it were not there.
 * @param {string | undefined} field
 */
export function retryAfterSecondsOf(field) {
  if (field === undefined || !/^\d{1,5}$/.test(field)) return undefined;
  const seconds = Number(field);
  return seconds <= LONGEST_RETRY_AFTER_SECONDS ? seconds : undefined;
}
