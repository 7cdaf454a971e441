/**
 * Stops requests after a 429 until its `Retry-After` has passed. So a burst costs the gateway one refusal per pending
 * attempt, not one per call.
 */
import { RateLimited } from "./errors.js";
export declare class RateLimitGate {
    #private;
    /** @param {RateLimited} refusal of the gateway @param {number} nowMs */
    note(refusal: RateLimited, nowMs: number): void;
    /** @param {number} nowMs */
    secondsUntilOpen(nowMs: number): number;
    /** Returns the refusal that a request would get now; undefined while the gate is open. @param {number} nowMs */
    refusal(nowMs: number): RateLimited | undefined;
}
