/** Refuses to run outside of backend apps. */

import { ConfigurationError } from "./errors.js";

const REASON = "backend apps only: table tokens delivered to a browser would expose backend storage credentials";

/** @returns {never} */
export function refuse() {
  throw new ConfigurationError({ code: "browser", detail: REASON });
}

/** Throws without Node (in a browser or an edge worker), and in a page of Electron. */
export function requireBackend() {
  const { process } = /** @type {{process?: {versions?: {node?: string}, type?: string}}} */ (globalThis);
  if (process?.versions?.node === undefined || process.type === "renderer") refuse();
}
