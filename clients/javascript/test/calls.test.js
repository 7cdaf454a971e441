import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { getEventListeners, once } from "node:events";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { DeadlineExceeded, NotAuthorized, RateLimited, Unavailable } from "kvs-client";
import { CREDENTIALS, DONE, json, MISSING, startBoth, startServer, until } from "./server.js";

const SILENT = () => {};
const HOUR = 3600;

test("connections are reused, and at most as many as allowed", async (context) => {
  const { client, seen, sockets } = await startBoth(context, DONE, { connections: 3 });
  await Promise.all(Array.from({ length: 100 }, (_, n) => client.put(`k${n}`, n)));
  await client.put("last", 0);
  assert.equal(seen.length, 101);
  assert.ok(sockets.size <= 3);
});

test("waiting calls are sent in their order", async (context) => {
  const { client, seen } = await startBoth(context, DONE, { connections: 1 });
  await Promise.all(Array.from({ length: 30 }, (_, n) => client.put("k", n)));
  assert.deepEqual(seen.map(({ body }) => body.value), Array.from({ length: 30 }, (_, n) => n));
});

test("10,000 calls beyond the limit cost the gateway one refusal per connection", async (context) => {
  const limited = json({ error: "rate_limited" }, 429, { "retry-after": "3000" });
  const { client, seen } = await startBoth(context, limited, { connections: 4, deadlineSeconds: 600 });
  const calls = Array.from({ length: 10_000 }, () => client.get("k").catch((error) => error));
  const errors = await Promise.all(calls);
  assert.ok(errors.every((error) => error instanceof RateLimited && error.code === "rate_limited"));
  assert.ok(seen.length <= 4);
});

test("an aborted call is rejected with the reason of the signal, wherever it waits", async (context) => {
  const { client, seen } = await startBoth(context, SILENT, { connections: 1, attemptSeconds: HOUR, deadlineSeconds: HOUR });
  const [first, second] = [new AbortController(), new AbortController()];
  const sent = client.get("k", { signal: first.signal });
  const waiting = client.get("k", { signal: second.signal });
  await until(() => seen.length === 1);
  second.abort("left");
  await assert.rejects(waiting, (reason) => reason === "left");
  first.abort();
  await assert.rejects(sent, { name: "AbortError" });
  await assert.rejects(client.get("k", { signal: AbortSignal.abort("before") }), (reason) => reason === "before");
  assert.equal(seen.length, 1);
});

test("any number of calls may share a signal, which keeps no reference to ended calls", async (context) => {
  const warnings = /** @type {Error[]} */ ([]);
  const note = (/** @type {Error} */ warning) => warnings.push(warning);
  process.on("warning", note);
  context.after(() => process.off("warning", note));
  const { client, seen } = await startBoth(context, (each, response) => {
    if (each.body.key !== "silent") MISSING(each, response);
  });
  const stop = new AbortController();
  const { signal } = stop;
  await Promise.all(Array.from({ length: 100 }, () => client.get("k", { signal })));
  assert.equal(getEventListeners(signal, "abort").length, 1);
  const calls = Array.from({ length: 20 }, () => client.get("silent", { signal }));
  await until(() => seen.length === 120);
  stop.abort();
  for (const { status } of await Promise.allSettled(calls)) assert.equal(status, "rejected");
  assert.deepEqual(warnings, []);
});

test("a cancelled call frees its connection", async (context) => {
  const { client, seen } = await startBoth(context, (each, response) => {
    if (each.body.key !== "silent") MISSING(each, response);
  }, { connections: 1, deadlineSeconds: HOUR, attemptSeconds: HOUR });
  const leaving = new AbortController();
  const cut = client.get("silent", { signal: leaving.signal });
  await until(() => seen.length === 1);
  leaving.abort();
  await assert.rejects(cut, { name: "AbortError" });
  await assert.rejects(client.get("silent", { deadlineSeconds: 0.2 }), DeadlineExceeded);
  assert.equal(await client.get("k"), undefined);
});

test("close ends pending calls, and later calls fail immediately", async (context) => {
  const { client, seen } = await startBoth(context, SILENT, { attemptSeconds: HOUR, deadlineSeconds: HOUR });
  const underWay = assert.rejects(client.put("k", 1), { name: "Unavailable", detail: "the client is closed" });
  await until(() => seen.length === 1);
  await client.close();
  await underWay;
  await assert.rejects(client.get("k"), Unavailable);
  assert.equal(seen.length, 1);
});

test("credentials are fetched by the first call, and sent with their session token", async (context) => {
  let asked = 0;
  const credentials = async () => ((asked += 1), CREDENTIALS);
  const { client, seen } = await startBoth(context, MISSING, { credentials });
  assert.equal(asked, 0);
  await client.get("k");
  assert.equal(asked, 1);
  assert.equal(seen[0]?.headers["x-amz-security-token"], CREDENTIALS.sessionToken);
});

test("missing credentials are no_credentials, without the error of their provider", async (context) => {
  const thrown = () => {
    throw new Error("hidden");
  };
  for (const credentials of [thrown, () => Promise.reject(new Error("hidden"))]) {
    const { client, seen } = await startBoth(context, MISSING, { credentials });
    await assert.rejects(client.get("k"), (error) => {
      assert.ok(error instanceof NotAuthorized && error.code === "no_credentials");
      return !String(error.stack).includes("hidden") && error.cause === undefined;
    });
    assert.equal(seen.length, 0);
  }
});

test("credentials that no header field can carry are not sent", async (context) => {
  const unfit = [{ accessKeyId: "A\r\nX: hidden" }, { sessionToken: "hidden\n" }, { secretAccessKey: undefined }];
  for (const each of unfit) {
    const credentials = /** @type {any} */ (async () => ({ ...CREDENTIALS, ...each }));
    const { client, seen } = await startBoth(context, MISSING, { credentials });
    await assert.rejects(client.get("k"), (error) => {
      assert.ok(error instanceof NotAuthorized && error.code === "no_credentials");
      return !String(error.stack).includes("hidden");
    });
    assert.equal(seen.length, 0);
  }
});

test("the deadline ends the search for credentials", async (context) => {
  const { client } = await startBoth(context, MISSING, { credentials: () => new Promise(() => {}), deadlineSeconds: 0.1 });
  await assert.rejects(client.get("k"), DeadlineExceeded);
});

test("a deadline of a century is accepted", async (context) => {
  const { client } = await startBoth(context, MISSING, { deadlineSeconds: 3e9, attemptSeconds: 3e9 });
  assert.equal(await client.get("k"), undefined);
});

test("a program ends without closing its client", async (context) => {
  const { url } = await startServer(context, DONE);
  const program = `
    import { fromEnv } from "kvs-client";
    await fromEnv("notes").put("k", 1);
    console.log("done");`;
  const env = {
    PATH: process.env["PATH"],
    SERVICE_KVS_URL: url,
    SERVICE_KVS_REGION: "eu-central-1",
    SERVICE_KVS_TOKEN_NOTES: "kvs_t",
    AWS_ACCESS_KEY_ID: "a",
    AWS_SECRET_ACCESS_KEY: "s",
  };
  const folder = fileURLToPath(new URL(".", import.meta.url));
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program], { cwd: folder, env });
  let printed = "";
  child.stdout.on("data", (chunk) => (printed += chunk));
  const [code] = await once(child, "close");
  assert.deepEqual([code, printed], [0, "done\n"]);
});
