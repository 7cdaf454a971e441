/**
 * What is known of the rate limit: after a 429 with `Retry-After` nothing is sent until those seconds are over. So a
 * burst costs the gateway one refusal for each attempt that was under way, not one for each call.
 */

import { RateLimited } from "./errors.js";

export class Limit {
  /** @type {RateLimited | undefined} */
  #refusal;
  #opensAtMs = 0;

  /** @param {RateLimited} refusal of the gateway @param {number} nowMs */
  note(refusal, nowMs) {
    const opensAtMs = nowMs + (refusal.retryAfterSeconds ?? 0) * 1000;
    if (opensAtMs <= this.#opensAtMs) return;
    this.#opensAtMs = opensAtMs;
    this.#refusal = refusal;
  }

  /** @param {number} nowMs */
  secondsUntilOpen(nowMs) {
    return Math.max(0, this.#opensAtMs - nowMs) / 1000;
  }

  /** What the gateway would answer now; undefined if it may be asked. @param {number} nowMs */
  refusal(nowMs) {
    const seconds = this.secondsUntilOpen(nowMs);
    if (seconds === 0 || this.#refusal === undefined) return undefined;
    const { code, detail, status, requestId } = this.#refusal;
    return new RateLimited({ code, detail, status, requestId, retryAfterSeconds: Math.ceil(seconds) });
  }
}
