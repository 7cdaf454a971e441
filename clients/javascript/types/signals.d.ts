/**
 * Listening to a caller's signal: one listener for all calls that share it. One for each would be a warning of Node
 * from the eleventh on, and a walk through a list for each that leaves.
 */
/**
 * Calls `listener` when the signal is aborted, which it is not yet.
 * @param {AbortSignal} signal
 * @param {() => void} listener
 * @returns {() => void} stops listening
 */
export declare function onAbort(signal: AbortSignal, listener: () => void): () => void;
