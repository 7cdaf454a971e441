/** Bytes that arrive on an idle connection answer no later call, even if the program computed meanwhile. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import { connect } from "kvs-client";
import { CREDENTIALS, TOKEN } from "./server.js";

const FORGED = '{"found":true,"value":"forged","expiresAt":null}';
const HEAD = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ";
const PATIENCE_MS = 120_000;

/** @type {Record<string, string>} */
const UNASKED = {
  "an answer": `${HEAD}${FORGED.length}\r\n\r\n${FORGED}`,
  "half an answer": HEAD,
  "a timeout": "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
  "an informational answer": "HTTP/1.1 100 Continue\r\n\r\n",
};

/** Runs in a thread of its own: answers with the number of the connection, and on a message sends what nobody asked for. */
const SERVER = `
const { createServer } = require("node:net");
const { parentPort, workerData: { turn, unasked, head } } = require("node:worker_threads");
let count = 0;
let last;
const server = createServer((socket) => {
  const body = JSON.stringify({ found: true, value: ++count, expiresAt: null });
  last = socket;
  socket.on("error", () => {});
  socket.on("data", () => socket.write(head + body.length + "\\r\\n\\r\\n" + body));
});
parentPort.on("message", () => last.write(unasked, () => {
  Atomics.store(turn, 0, 1);
  Atomics.notify(turn, 0);
}));
server.listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port));
`;

for (const [name, unasked] of Object.entries(UNASKED)) {
  test(`${name} on an idle connection answers no later call of a program that stood still`, async (context) => {
    const turn = new Int32Array(new SharedArrayBuffer(4));
    const worker = new Worker(SERVER, { eval: true, workerData: { turn, unasked, head: HEAD } });
    context.after(() => worker.terminate());
    const [port] = await once(worker, "message");
    const client = connect({ url: `http://127.0.0.1:${port}`, region: "r", token: TOKEN, credentials: async () => CREDENTIALS });
    context.after(() => client.close());
    for (let connection = 1; connection <= 3; connection += 1) {
      assert.equal((await client.get("k"))?.value, connection);
      await new Promise((resolve) => setTimeout(resolve, 1)); // so that undici has ended its turn
      worker.postMessage("send");
      assert.notEqual(Atomics.wait(turn, 0, 0, PATIENCE_MS), "timed-out");
      Atomics.store(turn, 0, 0);
    }
  });
}
