/** Where the client may run: the specification's rule, with its reason for a client elsewhere. */

import { ConfigurationError } from "./errors.js";

const REASON = "backend apps only: table tokens delivered to a browser would expose backend storage credentials";

/** @returns {never} */
export function refuse() {
  throw new ConfigurationError({ code: "browser", detail: REASON });
}

/** Throws where there is no Node: in a browser, in an edge worker without its modules; and in a page of Electron. */
export function requireBackend() {
  const { process } = /** @type {{process?: {versions?: {node?: string}, type?: string}}} */ (globalThis);
  if (process?.versions?.node === undefined || process.type === "renderer") refuse();
}
