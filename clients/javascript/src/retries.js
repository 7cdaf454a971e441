/** Retries of a call, and the pauses before them. */

import { RateLimited, Unavailable } from "./errors.js";

/** Statuses of the gateway, or of a proxy in front of it, that are retried. */
const REPEATED = new Set([429, 502, 503, 504]);

/**
 * Checks whether to retry. Put, get and delete are idempotent, so it does not matter if the last attempt was applied.
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
 * Returns the pause before a retry, or undefined if it would end after the deadline.
 *
 * Full jitter: uniform between 0 and an exponential bound. A random part is added to `Retry-After`, so that clients
 * that got the same one do not all retry at once.
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
 * Parses whole seconds; anything else is ignored.
 * @param {string | undefined} field
 */
export function retryAfterSecondsOf(field) {
  if (field === undefined || !/^\d{1,5}$/.test(field)) return undefined;
  const seconds = Number(field);
  return seconds <= LONGEST_RETRY_AFTER_SECONDS ? seconds : undefined;
}
