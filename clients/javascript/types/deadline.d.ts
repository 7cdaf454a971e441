/** The time that a call has, over everything that it waits for, and the caller's own signal. */
/** What a wait is rejected with when the time is over. */
export declare const TIME_IS_OVER: unique symbol;
/** @param {number} seconds */
export declare function timerMs(seconds: number): number;
export type Start<T> = (resolve: (value: T) => void, reject: (error: unknown) => void) => (() => void) | void;
/**
 * Starts something; whichever of the two functions it calls first counts. What it returns cancels it.
 * @template T
 * @typedef {(resolve: (value: T) => void, reject: (error: unknown) => void) => (() => void) | void} Start
 */
export declare class Deadline {
    #private;
    /**
     * @param {number} seconds
     * @param {AbortSignal | undefined} signal
     */
    constructor(seconds: number, signal: AbortSignal | undefined);
    get remainingSeconds(): number;
    /**
     * Waits for what `start` starts; cancels it when the time is over or the caller's signal says so.
     * @template T
     * @param {Start<T>} start
     * @returns {Promise<T>}
     */
    bound<T>(start: Start<T>): Promise<T>;
    /** Waits that long. @param {number} seconds */
    sleep(seconds: number): Promise<void>;
    /** The call has ended. */
    close(): void;
}
