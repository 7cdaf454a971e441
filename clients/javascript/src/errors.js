/**
 * Errors of calls.
 *
 *     KvsError
 *       ConfigurationError   the client cannot be created
 *       InvalidRequest       the request is invalid: a retry fails in the same way
 *       NotAuthorized        the gateway did not accept the signature, the role or the token
 *       RateLimited          the limit of the table or app environment is used up
 *       Unavailable          the gateway cannot be reached, or cannot serve the request
 *       DeadlineExceeded     no answer arrived before the deadline
 *       InvalidAnswer        the answer did not come from the gateway, or was changed on its way
 *
 * No error contains a token, a secret, a key, a value or another error, which might.
 */

import { hintFor } from "./hints.js";

/**
 * @typedef {object} Facts
 * @property {string} code
 * @property {string} detail
 * @property {number | undefined} [status]
 * @property {string | undefined} [requestId]
 */

/** Names are literals: a minified bundle renames classes. */
export class KvsError extends Error {
  name = "KvsError";

  /** @param {Facts} facts */
  constructor({ code, detail, status, requestId }) {
    const hint = hintFor(code, new.target.isOutage);
    const about = [status, code].filter((each) => each !== undefined).join(" ");
    const request = requestId === undefined ? "" : ` (request ${requestId})`;
    super(`${about}${detail && `: ${detail}`}${request}; ${hint}`);
    /** The HTTP status; undefined if there was no answer. */
    this.status = status;
    /** The code of the error, for programs. */
    this.code = code;
    /** An explanation by the gateway or by the client, for people. */
    this.detail = detail;
    /** The `x-request-id` of the answer, for questions to the operator. */
    this.requestId = requestId;
    /** Advice on what to do. */
    this.hint = hint;
  }

  /** @internal True if a put or delete may have been applied nevertheless. */
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
    /** Seconds until the window of the limit ends; undefined if the answer had none. */
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
    /** Seconds until a retry; undefined if the answer had none. */
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

export class DeadlineExceeded extends KvsError {
  name = "DeadlineExceeded";
}

export class InvalidAnswer extends KvsError {
  name = "InvalidAnswer";
}
