/**
 * What bundles for browsers and edge workers get instead of the client: the same names, and none of Node's modules,
 * which would be missed before anything could be explained.
 */

import { refuse } from "./runtime.js";

export * from "./errors.js";

export function fromEnv() {
  refuse();
}

export function connect() {
  refuse();
}

export class KvsClient {
  constructor() {
    refuse();
  }
}
