/**
 * Listening to a caller's signal: one listener for all calls that share it. One for each would be a warning of Node
 * from the eleventh on, and a walk through a list for each that leaves.
 */

/** @type {WeakMap<AbortSignal, Set<() => void>>} */
const shared = new WeakMap();

/**
 * Calls `listener` when the signal is aborted, which it is not yet.
 * @param {AbortSignal} signal
 * @param {() => void} listener
 * @returns {() => void} stops listening
 */
export function onAbort(signal, listener) {
  let listeners = shared.get(signal);
  if (listeners === undefined) {
    const all = (listeners = new Set());
    shared.set(signal, all);
    signal.addEventListener("abort", () => all.forEach((each) => each()), { once: true });
  }
  listeners.add(listener);
  return () => void listeners.delete(listener);
}
