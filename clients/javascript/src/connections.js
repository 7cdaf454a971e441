/**
 * A pool of persistent connections to one gateway, with one POST at a time on each.
 *
 * It uses undici's pool directly: the built-in fetch, which is built on it, costs several times the CPU, and its
 * pool size and idle timeout can be set only for the whole process (D204). From 7.30.2 on it reads an idle connection
 * before it writes: what arrived while the program computed is not taken for an answer.
 */

import { buildConnector, Pool } from "undici";
import { timerMs } from "./deadline.js";
import { skipInformational } from "./informational.js";

/**
 * @typedef {object} Response
 * @property {number} status
 * @property {Record<string, string | string[] | undefined>} fields
 * @property {Buffer | undefined} body undefined if it exceeds the limit
 */

/** @typedef {import("./signing.js").Fields} Fields */

/**
 * @typedef {object} Request
 * @property {string} path
 * @property {Buffer} body
 * @property {Fields} fields
 */

/** @typedef {import("undici").Dispatcher.DispatchController} Controller */

/** Less than the idle timeout of the gateway (75 s) and of common load balancers (60 s). */
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
   * @param {number} bounds.answerBytes longest body that is read
   */
  constructor({ url, connections, attemptSeconds, answerBytes }) {
    this.#attemptMs = timerMs(attemptSeconds);
    this.#answerBytes = answerBytes;
    const connect = buildConnector({ timeout: this.#attemptMs });
    this.#pool = new Pool(url.origin, {
      connections,
      pipelining: 1,
      connect: (options, callback) =>
        connect(options, (...[error, socket]) => {
          if (error) callback(error, null);
          else callback(null, skipInformational(socket));
        }),
      keepAliveTimeout: IDLE_SECONDS * 1000,
      keepAliveMaxTimeout: IDLE_SECONDS * 1000,
      // One timer per exchange covers head and body.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  /**
   * Sends a request; resolves with a response of any status, redirects included.
   * @param {Request} request
   * @param {(response: Response) => void} resolve
   * @param {(error: Error) => void} reject
   * @returns {() => void} cancels the request; neither function is called then
   */
  post(request, resolve, reject) {
    const exchange = new Exchange(resolve, reject, this.#attemptMs, this.#answerBytes);
    const { path, body, fields: headers } = request;
    this.#pool.dispatch({ method: "POST", path, body, headers }, exchange);
    return () => exchange.cancel();
  }

  /** Closes all connections; pending requests fail. */
  async close() {
    await this.#pool.destroy();
  }
}

/** Collects the events of undici for one request. */
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

  /** Called when the request has a connection; it cannot be aborted earlier. @param {Controller} controller */
  onRequestStart(controller) {
    if (this.#isOver) controller.abort(new Error("cancelled"));
    else this.#controller = controller;
  }

  /**
   * Called for the head of the response; informational ones do not come here.
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

/** The response did not arrive within the limit of an attempt. */
class TimedOut extends Error {
  code = "ETIMEDOUT";
}
