/**
 * What a call can come to beside its result.
 *
 *     KvsError
 *       ConfigurationError   the client cannot be made
 *       InvalidRequest       this call can never succeed
 *       NotAuthorized        signature, role or token
 *       RateLimited          the limit of the table or of the app environment
 *       Unavailable          the gateway, or the way to it
 *       DeadlineExceeded     the call's own time is over
 *       InvalidAnswer        this is not the gateway, or something changed its answer
 *
 * None holds a token, a secret, a key, a value or another error, which might.
 */

import { hintFor } from "./hints.js";

/**
 * @typedef {object} Facts
 * @property {string} code
 * @property {string} detail
 * @property {number | undefined} [status]
 * @property {string | undefined} [requestId]
 */

/** Names are written down: in a minified bundle a class has another one. */
export class KvsError extends Error {
  name = "KvsError";

  /** @param {Facts} facts */
  constructor({ code, detail, status, requestId }) {
    const hint = hintFor(code, new.target.isOutage);
    const about = [status, code].filter((each) => each !== undefined).join(" ");
    const request = requestId === undefined ? "" : ` (request ${requestId})`;
    super(`${about}${detail && `: ${detail}`}${request}; ${hint}`);
    /** The HTTP status; undefined if nothing was answered. */
    this.status = status;
    /** What went wrong, for programs. */
    this.code = code;
    /** What went wrong, for people: what the gateway says, or what the client found. */
    this.detail = detail;
    /** The answer's `x-request-id`, to ask the operator about. */
    this.requestId = requestId;
    /** What to do. */
    this.hint = hint;
  }

  /** @internal Whether a write may have been applied all the same. */
  static isOutage = false;

  toJSON() {
    const { name, status, code, detail, requestId, hint } = this;
    return { name, status, code, detail, requestId, hint };
  }
}

export class ConfigurationError extends KvsError {
  name = "ConfigurationError";
}

export class InvalidRequest extends KvsError {
  name = "InvalidRequest";
}

export class NotAuthorized extends KvsError {
  name = "NotAuthorized";
}

/** @typedef {Facts & {retryAfterSeconds?: number | undefined}} TimedFacts */

export class RateLimited extends KvsError {
  name = "RateLimited";

  /** @param {TimedFacts} facts */
  constructor({ retryAfterSeconds, ...facts }) {
    super(facts);
    /** When the limit's window ends; undefined if the answer did not say. */
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

export class Unavailable extends KvsError {
  name = "Unavailable";

  /** @internal */
  static isOutage = true;

  /** @param {TimedFacts} facts */
  constructor({ retryAfterSeconds, ...facts }) {
    super(facts);
    /** When to ask again; undefined if the answer did not say. */
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

export class DeadlineExceeded extends KvsError {
  name = "DeadlineExceeded";
}

export class InvalidAnswer extends KvsError {
  name = "InvalidAnswer";
}
