/** The driver of the shared scenarios: one JSON object per line in, one per line out (clients/scenarios.yaml). */

import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { format, inspect } from "node:util";
import { fromEnv, KvsError } from "kvs-client";

/** @type {any} */
let client;
let made = 0;
/** @type {unknown[]} */
let errors = [];
/** @type {Map<unknown, AbortController>} */
const underWay = new Map();

const inCamelCase = (/** @type {string} */ name) => name.replace(/_(.)/g, (_, letter) => letter.toUpperCase());
const instant = (/** @type {Date | null} */ date) => date && date.toISOString();
const bytes = (/** @type {string} */ base64) => new Uint8Array(Buffer.from(base64, "base64"));

/** @type {Record<string, (line: any, options: any) => any>} */
const OPERATIONS = {
  open({ table, environment = {}, options = {} }) {
    for (const [name, value] of Object.entries(environment)) {
      if (value === null) delete process.env[name];
      else process.env[name] = String(value);
    }
    [client, made, errors] = [undefined, 0, []];
    client = fromEnv(table, Object.fromEntries(Object.entries(options).map(([name, value]) => [inCamelCase(name), value])));
  },
  put: ({ key, value, prefix }, options) => at(prefix).put(key, value, options),
  put_raw: ({ key, raw_base64, prefix }, options) => at(prefix).putRaw(key, bytes(raw_base64), options),
  async get({ key, prefix }, options) {
    const entry = await at(prefix).get(key, options);
    return entry ? { found: true, value: entry.value, expires_at: instant(entry.expiresAt) } : { found: false };
  },
  async get_raw({ key, prefix }, options) {
    const entry = await at(prefix).getRaw(key, options);
    if (!entry) return { found: false };
    const raw_base64 = Buffer.from(entry.value).toString("base64");
    return { found: true, raw_base64, expires_at: instant(entry.expiresAt) };
  },
  delete: ({ key, prefix }, options) => at(prefix).delete(key, options),
  get_or_set({ key, make, prefix }, options) {
    return at(prefix).getOrSet(key, () => sleep(200).then(() => ((made += 1), make)), options);
  },
  made: () => made,
  cancel: ({ target }) => underWay.get(target)?.abort(),
  show: () => [...(client ? [client] : []), ...errors].flatMap(shown),
  close: () => client.close(),
};

/** @param {string | undefined} prefix */
function at(prefix) {
  return prefix === undefined ? client : client.withPrefix(prefix);
}

/** @param {any} thing */
function shown(thing) {
  const deep = inspect(thing, { depth: null, showHidden: true, getters: true });
  return [deep, format("%s %o %O %j", thing, thing, thing, thing), `${thing}`, JSON.stringify(thing), `${thing?.stack}`];
}

/** @param {any} error */
function errorFields(error) {
  errors.push(error);
  if (error?.name === "AbortError") return { type: "Cancelled", status: null, code: null, detail: null };
  if (!(error instanceof KvsError)) return { type: "Unexpected", detail: inspect(error) };
  const { name: type, status = null, code, detail, requestId: request_id = null, hint } = error;
  const { retryAfterSeconds: retry_after_seconds = null } = /** @type {any} */ (error);
  return { type, status, code, detail, request_id, hint, retry_after_seconds };
}

/** @param {any} line */
async function answer(line) {
  const { id, op, deadline_seconds: deadlineSeconds, ttl_seconds: ttlSeconds } = line;
  const controller = new AbortController();
  underWay.set(id, controller);
  const started = performance.now();
  const options = { signal: controller.signal, deadlineSeconds, ...(op.startsWith("put") || op === "get_or_set" ? { ttlSeconds } : {}) };
  let outcome;
  try {
    const operation = OPERATIONS[op];
    if (operation === undefined) throw new Error(`no such operation: ${op}`);
    outcome = { result: (await operation(line, options)) ?? null };
  } catch (error) {
    outcome = { error: errorFields(error) };
  }
  underWay.delete(id);
  console.log(JSON.stringify({ id, ...outcome, seconds: (performance.now() - started) / 1000 }));
}

for await (const text of createInterface({ input: process.stdin })) {
  const line = JSON.parse(text);
  const answered = answer(line);
  if (line.op === "open" || line.op === "close") await answered;
}
