/** The deadline of a call, across everything that it waits for, and the caller's signal. */
/** The reason with which a wait is rejected at the deadline. */
export declare const TIME_IS_OVER: unique symbol;
/** @param {number} seconds */
export declare function timerMs(seconds: number): number;
export type Start<T> = (resolve: (value: T) => void, reject: (error: unknown) => void) => (() => void) | void;
/**
 * Starts an operation, and returns a function that cancels it. The first of the two functions that it calls counts.
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
     * Waits for an operation; cancels it at the deadline or when the caller's signal is aborted.
     * @template T
     * @param {Start<T>} start
     * @returns {Promise<T>}
     */
    bound<T>(start: Start<T>): Promise<T>;
    /** Waits for this time. @param {number} seconds */
    sleep(seconds: number): Promise<void>;
    /** Ends the deadline with its call. */
    close(): void;
}
