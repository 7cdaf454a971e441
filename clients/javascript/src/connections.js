/**
 * One pool of connections to one gateway: a POST at a time on each, the next one on the same connection.
 *
 * undici's pool rather than the built-in fetch, which is made of it: fetch costs several times the CPU and leaves
 * the pool's size and the connections' idle time to the process (D204).
 */

import { Pool } from "undici";
import { timerMs } from "./deadline.js";

/**
 * @typedef {object} Response
 * @property {number} status
 * @property {Record<string, string | string[] | undefined>} fields
 * @property {Buffer | undefined} body undefined if it is too long
 */

/** @typedef {import("./signing.js").Fields} Fields */

/**
 * @typedef {object} Request
 * @property {string} path
 * @property {Buffer} body
 * @property {Fields} fields
 */

/** @typedef {import("undici").Dispatcher.DispatchController} Controller */

/** Less than gateways and load balancers keep an idle connection: 75 s and, often, 60 s. */
const IDLE_SECONDS = 50;

export class Connections {
  #pool;
  #attemptMs;
  #answerBytes;

  /**
   * @param {object} bounds
   * @param {URL} bounds.url
   * @param {number} bounds.connections
   * @param {number} bounds.attemptSeconds from connecting to the last byte of the answer
   * @param {number} bounds.answerBytes of a body; of a longer one no more is read
   */
  constructor({ url, connections, attemptSeconds, answerBytes }) {
    this.#attemptMs = timerMs(attemptSeconds);
    this.#answerBytes = answerBytes;
    this.#pool = new Pool(url.origin, {
      connections,
      pipelining: 1,
      connect: { timeout: this.#attemptMs },
      keepAliveTimeout: IDLE_SECONDS * 1000,
      keepAliveMaxTimeout: IDLE_SECONDS * 1000,
      // One timer per exchange covers head and body.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  /**
   * Sends a request; a response is what came, whatever its status: redirects, too.
   * @param {Request} request
   * @param {(response: Response) => void} resolve
   * @param {(error: Error) => void} reject
   * @returns {() => void} cancels it; neither of the two is called then
   */
  post(request, resolve, reject) {
    const exchange = new Exchange(resolve, reject, this.#attemptMs, this.#answerBytes);
    const { path, body, fields: headers } = request;
    this.#pool.dispatch({ method: "POST", path, body, headers }, exchange);
    return () => exchange.cancel();
  }

  /** Closes all connections; what is under way fails. */
  async close() {
    await this.#pool.destroy();
  }
}

/** What undici tells of a request, collected. */
class Exchange {
  #resolve;
  #reject;
  #timer;
  #bytesLeft;
  #isOver = false;
  /** @type {Controller | undefined} */
  #controller;
  #status = 0;
  /** @type {Response["fields"]} */
  #fields = {};
  /** @type {Buffer[]} */
  #chunks = [];

  /**
   * @param {(response: Response) => void} resolve
   * @param {(error: Error) => void} reject
   * @param {number} attemptMs
   * @param {number} answerBytes
   */
  constructor(resolve, reject, attemptMs, answerBytes) {
    this.#resolve = resolve;
    this.#reject = reject;
    this.#bytesLeft = answerBytes;
    this.#timer = setTimeout(() => this.#fail(new TimedOut()), attemptMs);
  }

  cancel() {
    this.#end();
    this.#controller?.abort(new Error("cancelled"));
  }

  /** Called when there is a connection; until then there is nothing to abort. @param {Controller} controller */
  onRequestStart(controller) {
    if (this.#isOver) controller.abort(new Error("cancelled"));
    else this.#controller = controller;
  }

  /**
   * Informational responses come here, too; the last response counts.
   * @param {Controller} _ @param {number} status @param {Response["fields"]} fields
   */
  onResponseStart(_, status, fields) {
    this.#status = status;
    this.#fields = fields;
  }

  /** @param {Controller} _ @param {Buffer} chunk */
  onResponseData(_, chunk) {
    if (this.#isOver) return;
    this.#bytesLeft -= chunk.length;
    if (this.#bytesLeft >= 0) {
      this.#chunks.push(chunk);
      return;
    }
    this.#resolve({ status: this.#status, fields: this.#fields, body: undefined });
    this.cancel();
  }

  onResponseEnd() {
    if (this.#isOver) return;
    this.#end();
    const [only, ...more] = this.#chunks;
    const body = only !== undefined && more.length === 0 ? only : Buffer.concat(this.#chunks);
    this.#resolve({ status: this.#status, fields: this.#fields, body });
  }

  /** @param {Controller} _ @param {Error} error */
  onResponseError(_, error) {
    if (this.#isOver) return;
    this.#end();
    this.#reject(error);
  }

  /** @param {Error} error */
  #fail(error) {
    this.cancel();
    this.#reject(error);
  }

  #end() {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }
}

/** The response did not come within the time of an attempt. */
class TimedOut extends Error {
  code = "ETIMEDOUT";
}
