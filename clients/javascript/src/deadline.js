/** The time that a call has, over everything that it waits for, and the caller's own signal. */

import { onAbort } from "./signals.js";

/** What a wait is rejected with when the time is over. */
export const TIME_IS_OVER = Symbol("the time is over");

/** Timers of Node hold no more: 24 days. */
const LONGEST_MS = 2 ** 31 - 1;

/** @param {number} seconds */
export function timerMs(seconds) {
  return Math.min(seconds * 1000, LONGEST_MS);
}

/**
 * Starts something; whichever of the two functions it calls first counts. What it returns cancels it.
 * @template T
 * @typedef {(resolve: (value: T) => void, reject: (error: unknown) => void) => (() => void) | void} Start
 */

export class Deadline {
  #endMs;
  #timer;
  #leave;
  /** @type {unknown} */
  #over;
  /** Ends what is being waited for. A call waits for one thing at a time.
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
   * Waits for what `start` starts; cancels it when the time is over or the caller's signal says so.
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

  /** Waits that long. @param {number} seconds */
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

  /** The call has ended. */
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
