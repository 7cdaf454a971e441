import assert from "node:assert/strict";
import { test } from "node:test";
import { InvalidRequest } from "kvs-client";
import { DONE, MISSING, startBoth, until } from "./server.js";

/** Answers like an empty table. @type {import("./server.js").Answer} */
const empty = (seen, response) => (seen.path === "/v1/get" ? MISSING : DONE)(seen, response);

test("concurrent callers make and put a missing value once", async (context) => {
  const { client, seen } = await startBoth(context, empty);
  let made = 0;
  const make = async () => ((made += 1), { n: 1 });
  const values = await Promise.all(Array.from({ length: 50 }, () => client.getOrSet("k", make, { ttlSeconds: 60 })));
  assert.ok(values.every(({ n }) => n === 1));
  assert.equal(made, 1);
  assert.deepEqual(seen.map(({ body }) => body), [{ key: "k" }, { key: "k", value: { n: 1 }, ttlSeconds: 60 }]);
});

test("clients share a flight if their prefixes are equal", async (context) => {
  const { client } = await startBoth(context, empty);
  let made = 0;
  const make = () => (made += 1);
  await Promise.all(["a:", "a:", "b:"].map((prefix) => client.withPrefix(prefix).getOrSet("k", make)));
  assert.equal(made, 2);
});

test("all callers get the error, and the next call makes the value again", async (context) => {
  const { client } = await startBoth(context, empty);
  const failing = () => Promise.reject(new Error("out of order"));
  const calls = Array.from({ length: 3 }, () => client.getOrSet("k", failing));
  for (const call of calls) await assert.rejects(call, { message: "out of order" });
  assert.equal(await client.getOrSet("k", () => 2), 2);
});

test("a value that cannot be put is an error", async (context) => {
  const { client } = await startBoth(context, empty);
  await assert.rejects(client.getOrSet("k", () => undefined), InvalidRequest);
});

test("cancelling one waiter does not affect the others", async (context) => {
  const { client } = await startBoth(context, empty);
  const leaving = new AbortController();
  let finish = (/** @type {number} */ _) => {};
  let isBeingMade = false;
  const make = () => {
    isBeingMade = true;
    return new Promise((/** @type {(value: number) => void} */ resolve) => (finish = resolve));
  };
  const first = client.getOrSet("k", make, { signal: leaving.signal });
  const second = client.getOrSet("k", make);
  await until(() => isBeingMade);
  leaving.abort();
  await assert.rejects(first, { name: "AbortError" });
  finish(7);
  assert.equal(await second, 7);
});
