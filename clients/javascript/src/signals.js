/**
 * One listener on a caller's signal for all calls that share it. With one listener per call, Node warns from the
 * eleventh on, and each removal searches a list.
 */

/** @type {WeakMap<AbortSignal, Set<() => void>>} */
const shared = new WeakMap();

/**
 * Calls `listener` when the signal, which is not aborted yet, is aborted.
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
