/** A server with a handler of the test, and a client of it. */

import { once } from "node:events";
import { createServer } from "node:http";
import { connect } from "kvs-client";

export const TOKEN = "kvs_hidden-token";
export const CREDENTIALS = { accessKeyId: "AKID", secretAccessKey: "hidden-secret", sessionToken: "hidden-session" };

/**
 * @typedef {object} Seen
 * @property {string} path
 * @property {any} body
 * @property {import("node:http").IncomingHttpHeaders} headers
 */

/** @typedef {(seen: Seen, response: import("node:http").ServerResponse) => void} Answer */

/** @param {any} body @param {number} [status] @param {Record<string, string>} [headers] @returns {Answer} */
export function json(body, status = 200, headers = {}) {
  return (_, response) => {
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
  };
}

export const MISSING = json({ found: false, expiresAt: null });
export const DONE = json({ ok: true, deleted: true });

/**
 * Starts a server that ends with the test.
 * @param {import("node:test").TestContext} context
 * @param {Answer} answer
 */
export async function startServer(context, answer) {
  /** @type {Seen[]} */
  const seen = [];
  const sockets = new Set();
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk) => (text += chunk));
    request.on("end", () => {
      const each = { path: request.url ?? "", body: JSON.parse(text), headers: request.headers };
      seen.push(each);
      answer(each, response);
    });
  });
  server.on("connection", (socket) => sockets.add(socket));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  context.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  return { url: `http://127.0.0.1:${port}`, seen, sockets };
}

/**
 * Starts a server, and a client that is closed with the test.
 * @param {import("node:test").TestContext} context
 * @param {Answer} answer
 * @param {import("kvs-client").Options} [options]
 */
export async function startBoth(context, answer, options = {}) {
  const server = await startServer(context, answer);
  const credentials = async () => CREDENTIALS;
  const client = connect({ url: server.url, region: "eu-central-1", token: TOKEN, credentials, ...options });
  context.after(() => client.close());
  return { ...server, client };
}

/** Waits until the condition holds. @param {() => boolean} condition */
export async function until(condition) {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}
