/** From a response to a result or an error. */

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
 * @property {Date | null} expiresAt null: never
 */

/** @typedef {{value: unknown, text: Buffer, expiresAt: Date | null}} Found */

const JSON_TYPE = /^application\/json[ \t]*(;|$)/i;
const CODE = /^[a-z0-9_]{1,64}$/;
const REQUEST_ID = /^[!-~]{1,128}$/;
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;
const LONGEST_DETAIL = 256;

/** What a put and a delete are answered with, by the name of its only field. @param {Response} response @param {string} name */
export function requireDone(response, name) {
  const { object } = bodyOf(response);
  if (object[name] !== true) throw malformed(response, `${name}: not true`);
}

/** What a get is answered with; undefined if there is no entry. @param {Response} response @returns {Found | undefined} */
export function foundIn(response) {
  const { object, text } = bodyOf(response);
  const { found, expiresAt } = object;
  if (found === false) return undefined;
  if (found !== true) throw malformed(response, "found: neither true nor false");
  if (!Object.hasOwn(object, "value")) throw malformed(response, "value: missing");
  if (expiresAt !== null && !isInstant(expiresAt)) throw malformed(response, "expiresAt: not an instant");
  return { value: object["value"], text, expiresAt: expiresAt === null ? null : new Date(expiresAt) };
}

/** The value's own bytes. @param {Found} found */
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
  if (!isPlain(response)) throw invalid(response, "unexpected_content_coding", "Content-Encoding: not identity");
  if (!JSON_TYPE.test(fieldOf(response, "content-type") ?? ""))
    throw invalid(response, "unexpected_content_type", "Content-Type: not application/json");
  if (response.body === undefined) throw invalid(response, "answer_too_large", "longer than answerBytes");
  const object = objectIn(response.body);
  if (object === undefined) throw malformed(response, "not a JSON object");
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
 * The error that a response other than 200 is.
 * @param {Response} response
 * @param {(string | undefined)[]} secrets which the answer may repeat, and the error must not
 */
export function refusalIn(response, secrets) {
  const { status } = response;
  const code = codeIn(response);
  const detail = visible(told(fieldOf(response, "x-kvs-error-detail"), secrets));
  const facts = { status, code, detail, requestId: requestIdIn(response, secrets) };
  if (status === 401 || status === 403) return new NotAuthorized(facts);
  const retryAfterSeconds = retryAfterSecondsOf(fieldOf(response, "retry-after"));
  if (status === 429) return new RateLimited({ ...facts, retryAfterSeconds });
  if (status === 408 || status >= 500) return new Unavailable({ ...facts, retryAfterSeconds });
  if (status >= 400) return new InvalidRequest(facts);
  const is = status >= 300 ? "redirect" : "unexpected_status";
  return new InvalidAnswer({ ...facts, code: is, detail: `status ${status}: not an answer of the gateway` });
}

/** @param {Response} response */
function codeIn(response) {
  const code = isPlain(response) ? objectIn(response.body)?.["error"] : undefined;
  return typeof code === "string" && CODE.test(code) ? code : `http_${response.status}`;
}

/** An id that is of the form of ids. @param {Response} response @param {(string | undefined)[]} secrets */
function requestIdIn(response, secrets) {
  const id = told(fieldOf(response, "x-request-id"), secrets);
  return REQUEST_ID.test(id) ? id : undefined;
}

/** A field without the secrets that were sent. @param {string | undefined} text @param {(string | undefined)[]} secrets */
function told(text = "", secrets) {
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
