/**
 * What is known of the rate limit: after a 429 with `Retry-After` nothing is sent until those seconds are over. So a
 * burst costs the gateway one refusal for each attempt that was under way, not one for each call.
 */
import { RateLimited } from "./errors.js";
export declare class Limit {
    #private;
    /** @param {RateLimited} refusal of the gateway @param {number} nowMs */
    note(refusal: RateLimited, nowMs: number): void;
    /** @param {number} nowMs */
    secondsUntilOpen(nowMs: number): number;
    /** What the gateway would answer now; undefined if it may be asked. @param {number} nowMs */
    refusal(nowMs: number): RateLimited | undefined;
}
