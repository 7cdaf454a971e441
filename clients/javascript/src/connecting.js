/** Creates clients from environment variables or from settings. */

import { defaultProvider } from "@aws-sdk/credential-provider-node";
import { Calls } from "./calls.js";
import { KvsClient } from "./client.js";
import { ConfigurationError } from "./errors.js";
import { requireBackend } from "./runtime.js";
import { checkedUrl, resolved } from "./settings.js";

/** @typedef {import("./settings.js").Options} Options */
/** @typedef {import("./settings.js").Place} Place */

/**
 * @typedef {object} Source
 * @property {Record<string, string | undefined> | undefined} [env] default: process.env
 * @property {string | undefined} [variablePrefix] the first word of the three variables, default: `SERVICE`
 */

/**
 * Creates the client of a table from `SERVICE_KVS_URL`, `SERVICE_KVS_REGION` and `SERVICE_KVS_TOKEN_<TABLE>`.
 * @param {string} table
 * @param {Options & Source} [options]
 */
export function fromEnv(table, { env, variablePrefix = "SERVICE", ...options } = {}) {
  requireBackend();
  requireTable(table);
  const variables = env ?? process.env;
  const names = {
    url: `${variablePrefix}_KVS_URL`,
    region: `${variablePrefix}_KVS_REGION`,
    token: `${variablePrefix}_KVS_TOKEN_${table.toUpperCase()}`,
  };
  const place = { url: "", region: "", token: "" };
  for (const each of /** @type {(keyof Place)[]} */ (["url", "region", "token"])) {
    const value = variables[names[each]];
    if (!value) throw new ConfigurationError({ code: "missing_variable", detail: `${names[each]} is not set` });
    place[each] = value;
  }
  return made(place, options, names);
}

/** @param {unknown} table */
function requireTable(table) {
  if (typeof table === "string" && /^\w{1,32}$/.test(table)) return;
  const detail = "table: expected 1 to 32 letters, digits and underscores";
  throw new ConfigurationError({ code: "invalid_option", detail });
}

/**
 * Creates the client of the table that a token belongs to.
 * @param {Place & Options} settings
 */
export function connect({ url, region, token, ...options }) {
  requireBackend();
  return made({ url, region, token }, options, { url: "url", region: "region", token: "token" });
}

/** @param {Place} place @param {Options} options @param {{[Name in keyof Place]: string}} names */
function made(place, options, names) {
  const url = checkedUrl(place, names);
  const settings = resolved(options);
  const credentials = settings.credentials ?? defaultProvider();
  const calls = new Calls({ url, region: place.region, token: place.token, credentials, settings });
  return new KvsClient(calls, settings);
}
