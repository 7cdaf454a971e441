/** The options with their defaults and checks. */

import { ConfigurationError } from "./errors.js";

/** @typedef {import("./signing.js").Credentials} Credentials */

/**
 * @typedef {object} Options
 * @property {number | undefined} [deadlineSeconds] limit of a whole call with credentials, waiting for a connection, attempts and pauses, default: 10
 * @property {number | undefined} [attemptSeconds] limit of one attempt, from connecting to the last byte of the answer, default: 5
 * @property {number | undefined} [connections] most concurrent attempts; further calls wait, default: 64
 * @property {number | undefined} [backoffBaseSeconds] bound of the first pause, doubled for each further one, default: 0.1
 * @property {number | undefined} [backoffCapSeconds] longest pause, and longest random part added to `Retry-After`, default: 1
 * @property {number | undefined} [answerBytes] longest answer body that is read, default: 1,048,576
 * @property {string | undefined} [prefix] added to the front of every key
 * @property {((text: string) => unknown) | undefined} [parse] decodes values, default: JSON.parse
 * @property {((value: any) => string | undefined) | undefined} [stringify] encodes values, default: JSON.stringify
 * @property {(() => Promise<Credentials>) | undefined} [credentials] replaces the chain of the AWS SDK
 */

/**
 * All options, with values.
 * @typedef {{[Name in Exclude<keyof Options, "credentials">]-?: NonNullable<Options[Name]>}
 *   & {credentials: Options["credentials"]}} Resolved
 */

/**
 * @typedef {object} Place
 * @property {string} url the gateway's address
 * @property {string} region to sign for
 * @property {string} token of the table
 */

const NUMBERS = {
  deadlineSeconds: 10,
  attemptSeconds: 5,
  connections: 64,
  backoffBaseSeconds: 0.1,
  backoffCapSeconds: 1,
  answerBytes: 1_048_576,
};
const OTHERS = { prefix: "", parse: JSON.parse, stringify: JSON.stringify, credentials: undefined };
const WHOLE = ["connections", "answerBytes"];

/**
 * Adds the defaults to the given options. Throws ConfigurationError.
 * @param {Options} options
 * @returns {Resolved}
 */
export function resolved(options) {
  requireKnown(options, { ...NUMBERS, ...OTHERS });
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  const all = { ...NUMBERS, ...OTHERS, ...given };
  for (const name of /** @type {(keyof typeof NUMBERS)[]} */ (Object.keys(NUMBERS))) requirePositive(name, all[name]);
  for (const [name, sample] of Object.entries({ ...OTHERS, credentials: JSON.parse })) {
    const value = all[/** @type {keyof typeof OTHERS} */ (name)];
    if (typeof value !== typeof sample && !(name === "credentials" && value === undefined))
      throw invalidOption(`${name}: expected a ${typeof sample}, not ${typeof value}`);
  }
  return all;
}

/**
 * Refuses unknown options: with `ttl` instead of `ttlSeconds`, an entry would never expire.
 * @param {unknown} options
 * @param {object} known
 */
export function requireKnown(options, known) {
  if (typeof options !== "object" || options === null) throw invalidOption(`options: expected an object, not ${typeof options}`);
  for (const name of Object.keys(options)) {
    if (!Object.hasOwn(known, name)) throw invalidOption(`${name}: unknown option, allowed: ${Object.keys(known).join(", ")}`);
  }
}

/** @param {string} name @param {unknown} value */
export function requirePositive(name, value) {
  const isNumber = WHOLE.includes(name) ? Number.isSafeInteger(value) : Number.isFinite(value);
  if (!isNumber || Number(value) <= 0)
    throw invalidOption(`${name}: expected a positive ${WHOLE.includes(name) ? "whole " : ""}number`);
}

/** @param {string} detail */
function invalidOption(detail) {
  return new ConfigurationError({ code: "invalid_option", detail });
}

/**
 * Returns the address as a URL; throws ConfigurationError, which quotes no value, as the address may have a password.
 * @param {Place} place
 * @param {{[Name in keyof Place]: string}} names names of the variables or settings, for errors
 */
export function checkedUrl({ url, region, token }, names) {
  if (!isText(region, /^[\w-]+$/)) throw invalidVariable(`${names.region}: expected letters, digits and hyphens`);
  if (!isText(token, /^[!-~]+$/)) throw invalidVariable(`${names.token}: expected visible ASCII characters without spaces`);
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (!parsed || !/^https?:$/.test(parsed.protocol) || parsed.username || parsed.password || /[?#]/.test(url))
    throw invalidVariable(`${names.url}: expected http:// or https://, a host, and optionally a port and a path`);
  return parsed;
}

/** @param {unknown} value @param {RegExp} form */
function isText(value, form) {
  return typeof value === "string" && form.test(value);
}

/** @param {string} detail */
function invalidVariable(detail) {
  return new ConfigurationError({ code: "invalid_variable", detail });
}
