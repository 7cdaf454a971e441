/** The deadline of a call, across everything that it waits for, and the caller's signal. */

import { onAbort } from "./signals.js";

/** The reason with which a wait is rejected at the deadline. */
export const TIME_IS_OVER = Symbol("the time is over");

/** Longest delay of a Node timer: 24 days. */
const LONGEST_MS = 2 ** 31 - 1;

/** @param {number} seconds */
export function timerMs(seconds) {
  return Math.min(seconds * 1000, LONGEST_MS);
}

/**
 * Starts an operation, and returns a function that cancels it. The first of the two functions that it calls counts.
 * @template T
 * @typedef {(resolve: (value: T) => void, reject: (error: unknown) => void) => (() => void) | void} Start
 */

export class Deadline {
  #endMs;
  #timer;
  #leave;
  /** @type {unknown} */
  #over;
  /** Ends the current wait. A call waits for one operation at a time.
   * @type {((error: unknown) => void) | undefined} */
  #interrupt;

  /**
   * @param {number} seconds
   * @param {AbortSignal | undefined} signal
   */
  constructor(seconds, signal) {
    signal?.throwIfAborted();
    const ms = timerMs(seconds);
    this.#endMs = performance.now() + ms;
    this.#timer = setTimeout(() => this.#end(TIME_IS_OVER), ms);
    this.#leave = signal && onAbort(signal, () => this.#end(signal.reason));
  }

  get remainingSeconds() {
    return (this.#endMs - performance.now()) / 1000;
  }

  /**
   * Waits for an operation; cancels it at the deadline or when the caller's signal is aborted.
   * @template T
   * @param {Start<T>} start
   * @returns {Promise<T>}
   */
  bound(start) {
    if (this.#over !== undefined) return Promise.reject(this.#over);
    return new Promise((resolve, reject) => {
      /** @type {(() => void) | void} */
      let cancel;
      this.#interrupt = (error) => {
        cancel?.();
        reject(error);
      };
      cancel = start(resolve, reject);
    });
  }

  /** Waits for this time. @param {number} seconds */
  sleep(seconds) {
    return this.bound(
      /** @type {Start<void>} */ (
        (resolve) => {
          const timer = setTimeout(resolve, seconds * 1000);
          return () => clearTimeout(timer);
        }
      ),
    );
  }

  /** Ends the deadline with its call. */
  close() {
    clearTimeout(this.#timer);
    this.#leave?.();
    this.#interrupt = undefined;
  }

  /** @param {unknown} error */
  #end(error) {
    this.#over = error;
    this.#interrupt?.(error);
  }
}
