/** The options with their defaults, and what they may be. */

import { ConfigurationError } from "./errors.js";

/** @typedef {import("./signing.js").Credentials} Credentials */

/**
 * @typedef {object} Options
 * @property {number | undefined} [deadlineSeconds] 10: of a whole call: credentials, waiting for a connection, attempts, pauses
 * @property {number | undefined} [attemptSeconds] 5: of one attempt, from connecting to the last byte of the answer
 * @property {number | undefined} [connections] 64: how many attempts are under way; further calls wait
 * @property {number | undefined} [backoffBaseSeconds] 0.1: the bound of the first pause, doubled for each further one
 * @property {number | undefined} [backoffCapSeconds] 1: the longest pause, and the spread after `Retry-After`
 * @property {number | undefined} [answerBytes] 1,048,576: the longest body of an answer that is read
 * @property {string | undefined} [prefix] put before every key
 * @property {((text: string) => unknown) | undefined} [parse] JSON.parse: how values are read
 * @property {((value: any) => string | undefined) | undefined} [stringify] JSON.stringify: how values are written
 * @property {(() => Promise<Credentials>) | undefined} [credentials] instead of the AWS SDK's own chain
 */

/**
 * The options, all of them.
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
 * The options with the defaults of those that are not given. Throws ConfigurationError.
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
      throw invalidOption(`${name}: ${typeof value}, not a ${typeof sample}`);
  }
  return all;
}

/**
 * An option that nobody reads would be a surprise later: `ttl` instead of `ttlSeconds` is an entry without an end.
 * @param {unknown} options
 * @param {object} known
 */
export function requireKnown(options, known) {
  if (typeof options !== "object" || options === null) throw invalidOption(`options: ${typeof options}, not an object`);
  for (const name of Object.keys(options)) {
    if (!Object.hasOwn(known, name)) throw invalidOption(`${name}: no such option; ${Object.keys(known).join(", ")}`);
  }
}

/** @param {string} name @param {unknown} value */
export function requirePositive(name, value) {
  const isNumber = WHOLE.includes(name) ? Number.isSafeInteger(value) : Number.isFinite(value);
  if (!isNumber || Number(value) <= 0)
    throw invalidOption(`${name}: not a positive ${WHOLE.includes(name) ? "whole " : ""}number`);
}

/** @param {string} detail */
function invalidOption(detail) {
  return new ConfigurationError({ code: "invalid_option", detail });
}

/**
 * The address as an URL; throws ConfigurationError, which quotes nothing: it may hold a password.
 * @param {Place} place
 * @param {{[Name in keyof Place]: string}} names what the three are called where they were set
 */
export function checkedUrl({ url, region, token }, names) {
  if (!isText(region, /^[\w-]+$/)) throw invalidVariable(`${names.region}: not the name of a region`);
  if (!isText(token, /^[!-~]+$/)) throw invalidVariable(`${names.token}: not a token, which is visible ASCII`);
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (!parsed || !/^https?:$/.test(parsed.protocol) || parsed.username || parsed.password || /[?#]/.test(url))
    throw invalidVariable(`${names.url}: not an http or https address without user, query and fragment`);
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
