/**
 * Stops requests after a 429 until its `Retry-After` has passed. So a burst costs the gateway one refusal per pending
 * attempt, not one per call.
 */

import { RateLimited } from "./errors.js";

export class RateLimitGate {
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

  /** Returns the refusal that a request would get now; undefined while the gate is open. @param {number} nowMs */
  refusal(nowMs) {
    const seconds = this.secondsUntilOpen(nowMs);
    if (seconds === 0 || this.#refusal === undefined) return undefined;
    const { code, detail, status, requestId } = this.#refusal;
    return new RateLimited({ code, detail, status, requestId, retryAfterSeconds: Math.ceil(seconds) });
  }
}
