/**
 * One listener on a caller's signal for all calls that share it. With one listener per call, Node warns from the
 * eleventh on, and each removal searches a list.
 */
/**
 * Calls `listener` when the signal, which is not aborted yet, is aborted.
 * @param {AbortSignal} signal
 * @param {() => void} listener
 * @returns {() => void} stops listening
 */
export declare function onAbort(signal: AbortSignal, listener: () => void): () => void;
