/** A semaphore; waiters get a slot in the order in which they came. */
export declare class Slots {
    #private;
    /** @param {number} count */
    constructor(count: number);
    /**
     * Calls `resolve` when there is a slot, which the caller then has to release.
     * @param {() => void} resolve
     * @returns {(() => void) | void} gives up waiting
     */
    acquire(resolve: () => void): (() => void) | void;
    /** Passes the slot to the next waiter. */
    release(): void;
}
