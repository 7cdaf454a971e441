/** Tests with a real gateway: the program in `KVS_GATEWAY_COMMAND`, or `kvs-gateway` on the path. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { Unavailable } from "kvs-client";
import { startGateway } from "kvs-client/testing";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** @type {Awaited<ReturnType<typeof startGateway>> | any} */
let gateway;
before(async () => {
  gateway = await startGateway();
});
after(() => gateway?.stop());

test("the first put of the README works", async () => {
  const readme = await readFile(`${ROOT}/README.md`, "utf8");
  const program = /```js\n(.*?)```/s.exec(readme)?.[1]?.replace('"notes"', '"sessions"') ?? "";
  const child = runNode(["--input-type=module", "--eval", program]);
  let printed = "";
  child.stdout.on("data", (chunk) => (printed += chunk));
  const [code] = await once(child, "close");
  assert.equal(code, 0);
  assert.match(printed, /^\{ value: \{ text: 'hello' \}, expiresAt: 20\d\d-/);
});

test("values are returned as they were put", async (context) => {
  const sessions = gateway.open();
  context.after(() => sessions.close());
  const value = { "": [null, true, -0.5, "ü😀\u0000\ud800"], __proto__: null };
  await sessions.put("k", value, { ttlSeconds: 60 });
  assert.deepEqual((await sessions.get("k"))?.value, JSON.parse(JSON.stringify(value)));
  await sessions.putRaw("k", " [1.0, 1e2, 12345678901234567890] ");
  assert.equal(Buffer.from((await sessions.getRaw("k"))?.value ?? []).toString().trim(), "[1.0, 1e2, 12345678901234567890]");
  await sessions.delete("k");
  assert.equal(await sessions.get("k"), undefined);
});

test("a gateway has the given tables", async (context) => {
  const another = await startGateway({ tables: ["notes", "flags"] });
  context.after(() => another.stop());
  const [notes, flags] = [another.open("notes"), another.open("flags")];
  context.after(() => Promise.all([notes.close(), flags.close()]));
  await notes.put("k", 1);
  assert.equal((await notes.get("k"))?.value, 1);
  assert.equal(await flags.get("k"), undefined);
  await assert.rejects(startGateway({ tables: ["no table"] }), /422/);
});

test("a stopped gateway does not answer, and may be stopped twice", async (context) => {
  const another = await startGateway();
  const client = another.open("sessions", { backoffBaseSeconds: 1e12, backoffCapSeconds: 1e12 });
  context.after(() => client.close());
  await client.put("k", 1, { deadlineSeconds: 60 });
  await another.stop();
  await another.stop();
  await assert.rejects(client.get("k", { deadlineSeconds: 60 }), Unavailable);
});

test("an error names a command that cannot be started", async () => {
  await assert.rejects(startGateway({ command: ["/no/such/program"] }), { code: "ENOENT" });
  await assert.rejects(startGateway({ command: [process.execPath, "--eval", "console.error(`why`); process.exitCode = 3", "--"] }), /ended with 3: why/);
});

test("the event server continues after the last event of a reader, even after a restart", async (context) => {
  assert.deepEqual(await eventsOf(context, 2), ["event 1", "event 2"]);
  const sessions = gateway.open();
  context.after(() => sessions.close());
  const stopped = await sessions.get("readers:ann");
  assert.deepEqual(await eventsOf(context, 1), [`event ${stopped?.value.last + 1}`]);
});

/** Reads the next events of a reader, from a new server. @param {import("node:test").TestContext} context @param {number} count */
async function eventsOf(context, count) {
  const server = runNode([`${ROOT}/examples/sse.js`]);
  context.after(() => server.kill());
  const [url] = await once(createInterface(server.stdout), "line");
  const response = await fetch(`${url}/?reader=ann`);
  let text = "";
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString();
    if (events(text).length >= count) break;
  }
  server.kill();
  await once(server, "exit");
  return events(text).slice(0, count);
}

/** @param {string} text */
function events(text) {
  return [...text.matchAll(/^data: (.*)\n/gm)].map((match) => match[1]);
}

/** Runs Node with the environment of an app. @param {string[]} options */
function runNode(options) {
  const env = { PATH: process.env["PATH"], PORT: "0", ...gateway.variables };
  return spawn(process.execPath, options, { cwd: ROOT, env, stdio: ["ignore", "pipe", "inherit"] });
}
