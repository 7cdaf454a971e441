/**
 * Replaces the client in bundles for browsers and edge workers: the same names, without modules of Node, whose absence
 * would fail before the reason could be given.
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
