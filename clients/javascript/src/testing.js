/** `kvs-client/testing`: runs `kvs-gateway dev`, a gateway in memory, for tests. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { createInterface } from "node:readline";
import { fromEnv } from "./connecting.js";

/** The table that `kvs-gateway dev` starts with. */
const OWN_TABLE = "sessions";

/** The last line of its output before it serves. */
const READY = "/v1/put";

/** The app of further tables, with a limit that no test reaches. */
const APP = "/v1/orgs/test/apps/test";
const REQUESTS_PER_MINUTE = 1_000_000_000;

/** @typedef {Record<string, string>} Variables */
/** @typedef {import("node:child_process").ChildProcess} ChildProcess */

/**
 * Starts a gateway and waits until it listens. Ends with `stop()`, `await using` or the process.
 * @param {object} [options]
 * @param {string[]} [options.tables] further tables than `sessions`
 * @param {string[]} [options.command] default: the words of `KVS_GATEWAY_COMMAND`, or `kvs-gateway`
 * @returns {Promise<Gateway>}
 */
export async function startGateway({ tables = [], command = commandOf(process.env) } = {}) {
  const [program = "", ...head] = command;
  const child = spawn(program, [...head, "dev", "--port", String(await freePort())], { stdio: ["ignore", "pipe", "pipe"] });
  const gateway = new Gateway(child, await printedVariables(child));
  try {
    await gateway.create(tables);
    return gateway;
  } catch (error) {
    await gateway.stop();
    throw error;
  }
}

/** @param {NodeJS.ProcessEnv} env */
function commandOf({ KVS_GATEWAY_COMMAND: words }) {
  return (words ?? "kvs-gateway").split(" ");
}

/** A running gateway. */
class Gateway {
  #child;
  #kill;

  /** @param {ChildProcess} child @param {Variables} variables */
  constructor(child, variables) {
    this.#child = child;
    this.#kill = () => child.kill("SIGKILL");
    process.once("exit", this.#kill);
    /** The environment variables of an app and its caller. */
    this.variables = variables;
  }

  /** Creates the client of a table. @param {string} [table] @param {import("./settings.js").Options} [options] */
  open(table = OWN_TABLE, options = {}) {
    const { AWS_ACCESS_KEY_ID: accessKeyId = "", AWS_SECRET_ACCESS_KEY: secretAccessKey = "" } = this.variables;
    const credentials = async () => ({ accessKeyId, secretAccessKey });
    return fromEnv(table, { credentials, ...options, env: this.variables });
  }

  /** Creates tables, and adds their variables. @param {string[]} tables */
  async create(tables) {
    if (tables.length === 0) return;
    await this.#manage("PUT", APP, { type: "api", requests_per_minute: REQUESTS_PER_MINUTE, max_tables: tables.length });
    for (const name of tables) {
      const { runtime } = await this.#manage("POST", `${APP}/services/kvs/tables`, { name });
      Object.assign(this.variables, runtime);
    }
  }

  async stop() {
    process.removeListener("exit", this.#kill);
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill("SIGINT");
    await once(this.#child, "exit");
  }

  async [Symbol.asyncDispose]() {
    await this.stop();
  }

  /** @param {string} method @param {string} path @param {object} fields @returns {Promise<any>} */
  async #manage(method, path, fields) {
    const { KVS_CONTROL_URL: url, KVS_CONTROL_TOKEN: token } = this.variables;
    const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };
    const response = await fetch(url + path, { method, headers, body: JSON.stringify(fields) });
    if (response.ok) return response.json();
    throw new Error(`${method} ${path}: ${response.status} ${response.headers.get("x-kvs-error-detail")}`);
  }
}

/** Returns the variables of its `export` lines; throws with its log if it ends before it listens. @param {ChildProcess} child */
async function printedVariables(child) {
  /** @type {Variables} */
  const variables = {};
  let log = "";
  child.stderr?.on("data", (chunk) => (log = (log + chunk).slice(-10_000)));
  await new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => reject(new Error(`kvs-gateway dev ended with ${code}: ${log}`)));
    if (child.stdout === null) return;
    createInterface(child.stdout).on("line", (line) => {
      const [, name, value] = /^export (\w+)=(.*)$/.exec(line) ?? [];
      if (name !== undefined && value !== undefined) variables[name] = unquoted(value);
      if (line.includes(READY)) resolve(undefined);
    });
  });
  return variables;
}

/** Parses a word of a POSIX shell, which is quoted with apostrophes or not at all. @param {string} word */
function unquoted(word) {
  return word.replace(/'([^']*)'|"([^"]*)"/g, (_, single, double) => single ?? double);
}

/** Asks the operating system for a free port. @returns {Promise<number>} */
async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  await new Promise((resolve) => server.close(resolve));
  return port;
}
