/** A call: attempts and pauses, until an answer or the deadline. */

import { refusalIn } from "./answers.js";
import { Connections } from "./connections.js";
import { Deadline, TIME_IS_OVER } from "./deadline.js";
import { DeadlineExceeded, NotAuthorized, RateLimited, Unavailable } from "./errors.js";
import { RateLimitGate } from "./rate-limit-gate.js";
import { isRepeated, pauseSeconds } from "./retries.js";
import { Signer } from "./signing.js";
import { Slots } from "./slots.js";

/** @typedef {import("./connections.js").Response} Response */
/** @typedef {import("./signing.js").Credentials} Credentials */
/** @typedef {"put" | "get" | "delete"} Operation */

/**
 * @typedef {object} CallOptions
 * @property {number | undefined} [deadlineSeconds] deadline of this call, default: that of the client
 * @property {AbortSignal | undefined} [signal] cancels the call, which is rejected with the reason of the signal
 */

/** Not signed: a proxy in front of the gateway may change it. */
const ACCEPT = ["accept-encoding", "identity"];

export class Calls {
  #base;
  #token;
  #credentials;
  #settings;
  #signer;
  #connections;
  #slots;
  #gate = new RateLimitGate();
  #isClosed = false;
  /** The last credentials that passed the check. @type {Credentials | undefined} */
  #fitting;

  /**
   * @param {object} parts
   * @param {URL} parts.url
   * @param {string} parts.region
   * @param {string} parts.token
   * @param {() => Promise<Credentials>} parts.credentials
   * @param {import("./settings.js").Resolved} parts.settings
   */
  constructor({ url, region, token, credentials, settings }) {
    this.url = url.href;
    this.region = region;
    this.#base = url.pathname.replace(/\/+$/, "");
    this.#token = token;
    this.#credentials = credentials;
    this.#settings = settings;
    this.#signer = new Signer({ region, host: url.host, token });
    this.#connections = new Connections({ url, ...settings });
    this.#slots = new Slots(settings.connections);
  }

  /**
   * Returns a response with status 200. Rejects with a KvsError, or with the reason of the caller's signal.
   * @param {Operation} operation
   * @param {Buffer} body
   * @param {CallOptions} options
   * @returns {Promise<Response>}
   */
  async make(operation, body, { deadlineSeconds = this.#settings.deadlineSeconds, signal }) {
    const deadline = new Deadline(deadlineSeconds, signal);
    try {
      return await this.#attempts(`${this.#base}/v1/${operation}`, body, deadline);
    } catch (error) {
      if (error !== TIME_IS_OVER) throw error;
      throw new DeadlineExceeded({ code: "deadline_exceeded", detail: `no answer within ${deadlineSeconds} s` });
    } finally {
      deadline.close();
    }
  }

  /** @param {string} path @param {Buffer} body @param {Deadline} deadline */
  async #attempts(path, body, deadline) {
    for (let repetition = 0; ; repetition += 1) {
      const outcome = await this.#attempt(path, body, deadline);
      if (!(outcome instanceof Error)) return outcome;
      const pause = isRepeated(outcome) && !this.#isClosed ? this.#pauseSeconds(outcome, repetition, deadline) : undefined;
      if (pause === undefined) throw outcome;
      await deadline.sleep(pause);
    }
  }

  /** @param {RateLimited | Unavailable} refusal @param {number} repetition @param {Deadline} deadline */
  #pauseSeconds(refusal, repetition, { remainingSeconds }) {
    let { retryAfterSeconds } = refusal;
    if (refusal instanceof RateLimited && retryAfterSeconds !== undefined)
      retryAfterSeconds = this.#gate.secondsUntilOpen(performance.now());
    const situation = { repetition, retryAfterSeconds, remainingSeconds, random: Math.random() };
    return pauseSeconds(situation, this.#settings);
  }

  /** Makes one attempt, when a slot is free. @param {string} path @param {Buffer} body @param {Deadline} deadline */
  async #attempt(path, body, deadline) {
    await deadline.bound((resolve) => this.#slots.acquire(() => resolve(undefined)));
    try {
      const credentials = await this.#found(deadline);
      return this.#gate.refusal(performance.now()) ?? (await this.#sent(path, body, credentials, deadline));
    } finally {
      this.#slots.release();
    }
  }

  /** @param {string} path @param {Buffer} body @param {Credentials} credentials @param {Deadline} deadline */
  async #sent(path, body, credentials, deadline) {
    const fields = this.#signer.sign(path, body, credentials, new Date());
    fields.push(...ACCEPT);
    /** @type {Response | Error} */
    const came = await deadline.bound((resolve) => this.#connections.post({ path, body, fields }, resolve, resolve));
    if (came instanceof Error) return this.#unanswered(came);
    if (came.status === 200) return came;
    const refusal = refusalIn(came, [this.#token, credentials.sessionToken]);
    if (refusal instanceof RateLimited) this.#gate.note(refusal, performance.now());
    return refusal;
  }

  /** Gets credentials from the AWS SDK, which refreshes them. Its error messages may contain secrets. @param {Deadline} deadline */
  async #found(deadline) {
    /** @type {Credentials | undefined} */
    const found = await deadline.bound((resolve) => {
      const finding = async () => this.#credentials();
      finding().then(resolve, () => resolve(undefined));
    });
    if (!found) throw noCredentials("the AWS SDK found no credentials");
    if (found !== this.#fitting && !isFitting(found)) throw noCredentials("they contain a space, a line break or another invisible character");
    this.#fitting = found;
    return found;
  }

  /** @param {Error & {code?: unknown}} error of the connection; its message may quote the request or the answer */
  #unanswered({ code }) {
    const reason = this.#isClosed ? "the client is closed" : typeof code === "string" ? code : "the connection failed";
    return new Unavailable({ code: "no_answer", detail: reason });
  }

  async close() {
    this.#isClosed = true;
    await this.#connections.close();
  }
}

/** @param {string} detail */
function noCredentials(detail) {
  return new NotAuthorized({ code: "no_credentials", detail });
}

/** Checks that header fields can carry the credentials. @param {Credentials} credentials */
function isFitting({ accessKeyId, secretAccessKey, sessionToken }) {
  const carried = [accessKeyId, sessionToken ?? "none"];
  return typeof secretAccessKey === "string" && carried.every((each) => typeof each === "string" && /^[!-~]*$/.test(each));
}
