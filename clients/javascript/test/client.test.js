import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import { ConfigurationError, connect, fromEnv, InvalidAnswer, InvalidRequest, KvsError } from "kvs-client";
import { DONE, json, MISSING, startBoth, TOKEN } from "./server.js";

const found = (/** @type {any} */ value) => json({ found: true, value, expiresAt: "2100-01-02T03:04:05.678Z" });

test("only the given ones of key, value and TTL are sent", async (context) => {
  const { client, seen } = await startBoth(context, DONE);
  await client.put("k", { a: [1] }, { ttlSeconds: 60 });
  await client.putRaw("k", "1.0");
  await client.delete("k", { deadlineSeconds: undefined, signal: undefined });
  const bodies = [{ key: "k", value: { a: [1] }, ttlSeconds: 60 }, { key: "k", value: 1 }, { key: "k" }];
  assert.deepEqual(seen.map(({ body }) => body), bodies);
  assert.deepEqual(seen.map(({ path }) => path), ["/v1/put", "/v1/put", "/v1/delete"]);
});

test("an entry has a value and an expiry", async (context) => {
  const { client } = await startBoth(context, found({ a: null }));
  const expiresAt = new Date("2100-01-02T03:04:05.678Z");
  assert.deepEqual(await client.get("k"), { value: { a: null }, expiresAt });
  assert.deepEqual(await client.getRaw("k"), { value: new Uint8Array(Buffer.from('{"a":null}')), expiresAt });
});

test("a custom parse gets the value as stored", async (context) => {
  const text = '{"found":true,"value":12345678901234567890,"expiresAt":null}';
  const answer = (/** @type {any} */ _, /** @type {any} */ response) => {
    response.writeHead(200, { "content-type": "application/json" }).end(text);
  };
  const { client } = await startBoth(context, answer, { parse: BigInt });
  assert.equal((await client.get("k"))?.value, 12345678901234567890n);
});

test("an unknown option is refused, not ignored", async (context) => {
  const { client, seen } = await startBoth(context, DONE);
  const place = { url: "http://127.0.0.1:1", region: "r", token: TOKEN };
  const any = /** @type {any} */ (client);
  await assert.rejects(any.put("k", 1, { ttl: 60 }), ConfigurationError);
  await assert.rejects(any.put("k", 1, 60), ConfigurationError);
  await assert.rejects(any.get("k", { ttlSeconds: 60 }), ConfigurationError);
  await assert.rejects(any.get("k", { deadlineSeconds: NaN }), ConfigurationError);
  await assert.rejects(any.getOrSet("k", () => 1, { deadline: 1 }), ConfigurationError);
  for (const options of [{ retries: 3 }, { connections: 1.5 }, { deadlineSeconds: "1" }, { prefix: 1 }, { credentials: {} }])
    assert.throws(() => connect({ ...place, .../** @type {any} */ (options) }), { code: "invalid_option" });
  assert.equal(seen.length, 0);
});

test("an invalid table name is refused", () => {
  for (const name of [undefined, "", "my-notes", "a".repeat(33)])
    assert.throws(() => fromEnv(/** @type {any} */ (name)), { code: "invalid_option" });
});

test("an error names a missing or malformed variable and does not quote it", () => {
  const env = { ACME_KVS_URL: "http://u:hidden@h", ACME_KVS_REGION: "eu-central-1", ACME_KVS_TOKEN_NOTES: "kvs_hidden\n" };
  const refused = (/** @type {object} */ changes, /** @type {string} */ name) =>
    assert.throws(() => fromEnv("notes", { env: { ...env, ...changes }, variablePrefix: "ACME" }), (error) => {
      assert.ok(error instanceof ConfigurationError && error.detail.startsWith(name));
      return !inspect(error).includes("hidden");
    });
  refused({ ACME_KVS_URL: undefined }, "ACME_KVS_URL is not set");
  refused({}, "ACME_KVS_TOKEN_NOTES:");
  refused({ ACME_KVS_TOKEN_NOTES: "t" }, "ACME_KVS_URL:");
  for (const url of ["kvs", "ftp://h", "http://h?x", "http://h#x", "file:///x"])
    refused({ ACME_KVS_TOKEN_NOTES: "t", ACME_KVS_URL: url }, "ACME_KVS_URL:");
});

test("a key that is not a string is refused", async (context) => {
  const { client, seen } = await startBoth(context, DONE, { prefix: "p:" });
  for (const key of [undefined, null, 1, {}])
    await assert.rejects(client.put(/** @type {any} */ (key), 1), { name: "InvalidRequest", code: "invalid_key" });
  assert.equal(seen.length, 0);
});

test("prefixes are concatenated", async (context) => {
  const { client, seen } = await startBoth(context, MISSING, { prefix: "a:" });
  await client.withPrefix("b:").get("k");
  assert.deepEqual(seen[0]?.body, { key: "a:b:k" });
});

test("a URL may have a path", async (context) => {
  const { url, seen } = await startBoth(context, MISSING);
  const credentials = async () => ({ accessKeyId: "a", secretAccessKey: "s" });
  const client = connect({ url: `${url}/base/`, region: "r", token: TOKEN, credentials });
  await client.get("k");
  await client.close();
  assert.equal(seen[0]?.path, "/base/v1/get");
});

test("clients and errors show no secret, key or value", async (context) => {
  const echo = json({ error: "invalid_value" }, 400, {
    "x-kvs-error-detail": `value, ${TOKEN}, hidden-session`,
    "x-request-id": TOKEN,
  });
  const { client } = await startBoth(context, echo, { prefix: "hidden-prefix" });
  const error = await client.put("hidden-key", "hidden-value").catch((caught) => caught);
  assert.ok(error instanceof InvalidRequest);
  for (const thing of [client, error]) {
    const deep = inspect(thing, { depth: null, showHidden: true });
    /** @type {string[]} */
    const shown = [deep, JSON.stringify(thing), `${thing}`, `${error.stack}`];
    assert.deepEqual(shown.filter((text) => text.includes("hidden")), []);
  }
  assert.deepEqual([error.detail, error.requestId], ["value, [token], [token]", "[token]"]);
});

test("a malformed request id is dropped, and a detail is bounded and visible ASCII", async (context) => {
  const headers = { "x-kvs-error-detail": `\u00e4${"a".repeat(300)}`, "x-request-id": "r".repeat(129) };
  const { client } = await startBoth(context, json({ error: "invalid_key" }, 400, headers));
  await assert.rejects(client.get("k"), { detail: `?${"a".repeat(255)}`, requestId: undefined });
});

test("an unknown status counts as a server error and is not retried", async (context) => {
  const { client, seen } = await startBoth(context, json({ error: "invalid_key" }, 999));
  await assert.rejects(client.get("k"), { name: "Unavailable", status: 999, code: "invalid_key" });
  assert.equal(seen.length, 1);
});

test("the text of an error has code, detail, request and hint, and its stack the caller", async (context) => {
  const headers = { "x-kvs-error-detail": "region: a, allowed: b", "x-request-id": "r-1" };
  const { client } = await startBoth(context, json({ error: "invalid_region" }, 403, headers));
  const text = "403 invalid_region: region: a, allowed: b (request r-1); set SERVICE_KVS_REGION to the region of the gateway";
  try {
    await client.get("k");
    assert.fail("it was answered");
  } catch (error) {
    assert.ok(error instanceof KvsError);
    assert.equal(error.message, text);
    assert.match(String(error.stack), /^NotAuthorized: 403 .*client\.test\.js/s);
  }
});

test("an answer that is not of the gateway is refused", async (context) => {
  const texts = ['{"found":1}', '{"found":true,"expiresAt":null}', "null", "[]", '{"found":true,"value":1,"expiresAt":"2100"}'];
  const answer = (/** @type {any} */ _, /** @type {any} */ response) => {
    response.writeHead(200, { "content-type": "application/json" }).end(texts.pop());
  };
  const { client } = await startBoth(context, answer);
  while (texts.length > 0) await assert.rejects(client.get("k"), InvalidAnswer);
});

test("a TTL that JSON cannot carry is refused", async (context) => {
  const { client, seen } = await startBoth(context, DONE);
  for (const ttlSeconds of /** @type {any[]} */ ([NaN, Infinity, 60n, "60", null, () => 60])) {
    await assert.rejects(client.put("k", 1, { ttlSeconds }), { name: "InvalidRequest", code: "invalid_ttl" });
  }
  assert.equal(seen.length, 0);
});
