/** A semaphore; waiters get a slot in the order in which they came. */

export class Slots {
  #free;
  /** @type {Set<() => void>} */
  #waiting = new Set();

  /** @param {number} count */
  constructor(count) {
    this.#free = count;
  }

  /**
   * Calls `resolve` when there is a slot, which the caller then has to release.
   * @param {() => void} resolve
   * @returns {(() => void) | void} gives up waiting
   */
  acquire(resolve) {
    if (this.#free > 0) {
      this.#free -= 1;
      return resolve();
    }
    this.#waiting.add(resolve);
    return () => void this.#waiting.delete(resolve);
  }

  /** Passes the slot to the next waiter. */
  release() {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#free += 1;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
