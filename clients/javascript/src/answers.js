/** Converts a response to a result or an error. */

import { InvalidAnswer, InvalidRequest, NotAuthorized, RateLimited, Unavailable } from "./errors.js";
import { memberOf, parsed } from "./json.js";
import { retryAfterSecondsOf } from "./retries.js";

/** @typedef {import("./connections.js").Response} Response */
/** @typedef {import("./errors.js").Facts} Facts */

/**
 * An entry, as it was stored.
 * @template T
 * @typedef {object} Entry
 * @property {T} value
 * @property {Date | null} expiresAt null if it never expires
 */

/** @typedef {{value: unknown, text: Buffer, expiresAt: Date | null}} Found */

const JSON_TYPE = /^application\/json[ \t]*(;|$)/i;
const CODE = /^[a-z0-9_]{1,64}$/;
const REQUEST_ID = /^[!-~]{1,128}$/;
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;
const LONGEST_DETAIL = 256;

/** Checks the answer to a put or a delete, which has one field of this name. @param {Response} response @param {string} name */
export function requireDone(response, name) {
  const { object } = bodyOf(response);
  if (object[name] !== true) throw malformed(response, `${name}: expected true`);
}

/** Reads the answer to a get; undefined if there is no entry. @param {Response} response @returns {Found | undefined} */
export function foundIn(response) {
  const { object, text } = bodyOf(response);
  const { found, expiresAt } = object;
  if (found === false) return undefined;
  if (found !== true) throw malformed(response, "found: expected true or false");
  if (!Object.hasOwn(object, "value")) throw malformed(response, "value: missing");
  if (expiresAt !== null && !isInstant(expiresAt)) throw malformed(response, "expiresAt: expected null or an instant");
  return { value: object["value"], text, expiresAt: expiresAt === null ? null : new Date(expiresAt) };
}

/** Returns the value as the stored bytes. @param {Found} found */
export function rawValueOf({ text }) {
  return memberOf(text, "value") ?? Buffer.alloc(0);
}

/** @param {unknown} value @returns {value is string} */
function isInstant(value) {
  return typeof value === "string" && INSTANT.test(value) && !Number.isNaN(Date.parse(value));
}

/**
 * @param {Response} response with the status 200
 * @returns {{object: Record<string, unknown>, text: Buffer}}
 */
function bodyOf(response) {
  if (!isPlain(response)) throw invalid(response, "unexpected_content_coding", "Content-Encoding: expected identity");
  if (!JSON_TYPE.test(fieldOf(response, "content-type") ?? ""))
    throw invalid(response, "unexpected_content_type", "Content-Type: expected application/json");
  if (response.body === undefined) throw invalid(response, "answer_too_large", "the body is longer than answerBytes");
  const object = objectIn(response.body);
  if (object === undefined) throw malformed(response, "expected a JSON object");
  return { object, text: response.body };
}

/** @param {Buffer | undefined} body @returns {Record<string, unknown> | undefined} */
function objectIn(body) {
  try {
    const value = body && parsed(body);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Converts a response other than 200 to an error.
 * @param {Response} response
 * @param {(string | undefined)[]} secrets of the request, which the error never contains even if the answer does
 */
export function refusalIn(response, secrets) {
  const { status } = response;
  const code = codeIn(response);
  const detail = visible(redacted(fieldOf(response, "x-kvs-error-detail"), secrets));
  const facts = { status, code, detail, requestId: requestIdIn(response, secrets) };
  if (status === 401 || status === 403) return new NotAuthorized(facts);
  const retryAfterSeconds = retryAfterSecondsOf(fieldOf(response, "retry-after"));
  if (status === 429) return new RateLimited({ ...facts, retryAfterSeconds });
  if (status === 408 || status >= 500) return new Unavailable({ ...facts, retryAfterSeconds });
  if (status >= 400) return new InvalidRequest(facts);
  const is = status >= 300 ? "redirect" : "unexpected_status";
  return new InvalidAnswer({ ...facts, code: is, detail: `status ${status} is not an answer of the gateway` });
}

/** @param {Response} response */
function codeIn(response) {
  const code = isPlain(response) ? objectIn(response.body)?.["error"] : undefined;
  return typeof code === "string" && CODE.test(code) ? code : `http_${response.status}`;
}

/** Returns the request id, if it is well-formed. @param {Response} response @param {(string | undefined)[]} secrets */
function requestIdIn(response, secrets) {
  const id = redacted(fieldOf(response, "x-request-id"), secrets);
  return REQUEST_ID.test(id) ? id : undefined;
}

/** Replaces the secrets of the request in a field. @param {string | undefined} text @param {(string | undefined)[]} secrets */
function redacted(text = "", secrets) {
  let shown = text;
  for (const secret of secrets) if (secret) shown = shown.replaceAll(secret, "[token]");
  return shown;
}

/** @param {string} text */
function visible(text) {
  return text.replace(/[^ -~]/g, "?").slice(0, LONGEST_DETAIL);
}

/** @param {Response} response */
function isPlain(response) {
  return /^(identity)?$/i.test(fieldOf(response, "content-encoding") ?? "");
}

/** @param {Response} response @param {string} name */
function fieldOf({ fields }, name) {
  const value = fields[name];
  return Array.isArray(value) ? value.join(", ") : value;
}

/** @param {Response} response @param {string} detail */
function malformed(response, detail) {
  return invalid(response, "malformed_answer", detail);
}

/** @param {Response} response @param {string} code @param {string} detail */
function invalid({ status }, code, detail) {
  return new InvalidAnswer({ status, code, detail });
}
