/** The clients: each way is a function that puts one value of 1 KiB, on its own connections. */

import { createHash, createHmac } from "node:crypto";
import { defaultProvider } from "@aws-sdk/credential-provider-node";
import { HttpRequest } from "@smithy/protocol-http";
import { SignatureV4 } from "@smithy/signature-v4";
import { Redis } from "@upstash/redis";
import { connect } from "kvs-client";

const KEY = "users:12345:preferences";
const VALUE = { text: "x".repeat(1012) };
const REGION = "eu-central-1";
const TOKEN = `kvs_${"t".repeat(40)}`;

process.env.AWS_ACCESS_KEY_ID = "AKIDEXAMPLE";
process.env.AWS_SECRET_ACCESS_KEY = "secret";
process.env.AWS_SESSION_TOKEN = "s".repeat(300);

/** SHA-256 by Node, as @smithy/signature-v4 wants it. */
class Sha256 {
  constructor(secret) {
    this.hash = secret ? createHmac("sha256", secret) : createHash("sha256");
  }

  update(data) {
    this.hash.update(data);
  }

  async digest() {
    return new Uint8Array(this.hash.digest());
  }
}

/** What an app writes by hand: smithy signs, the built-in fetch sends. */
function byHand(origin) {
  const signer = new SignatureV4({ service: "execute-api", region: REGION, credentials: defaultProvider(), sha256: Sha256 });
  const url = new URL(`${origin}/v1/put`);
  return async () => {
    const body = JSON.stringify({ key: KEY, value: VALUE });
    const headers = { host: url.host, "content-type": "application/json", "x-kvs-authorization": `Bearer ${TOKEN}` };
    const { hostname, port, pathname: path } = url;
    const request = new HttpRequest({ method: "POST", hostname, port: Number(port), path, headers, body });
    const signed = await signer.sign(request);
    const response = await fetch(url, { method: "POST", headers: signed.headers, body, redirect: "manual" });
    return response.json();
  };
}

/** The floor of those on fetch: no signature at all. */
function unsigned(origin) {
  return async () => {
    const headers = { "content-type": "application/json", "x-kvs-authorization": `Bearer ${TOKEN}` };
    const body = JSON.stringify({ key: KEY, value: VALUE });
    return (await fetch(`${origin}/v1/put`, { method: "POST", headers, body })).json();
  };
}

function upstash(origin) {
  const redis = new Redis({ url: origin, token: "t".repeat(40), enableTelemetry: false, enableAutoPipelining: false });
  return () => redis.set(KEY, VALUE);
}

/** Its address is read when it is loaded. */
async function adobe(origin) {
  process.env.AIO_STATE_ENDPOINT = origin;
  const { default: library } = await import("@adobe/aio-lib-state");
  const state = await library.init({ ow: { namespace: "1234-bench", auth: "u:p" } });
  return () => state.put("users-12345-preferences", JSON.stringify(VALUE));
}

/** One client, so that waiting calls share it. */
function ours(origin, options = {}) {
  const client = connect({ url: origin, region: REGION, token: TOKEN, connections: 64, ...options });
  return () => client.put(KEY, VALUE);
}

export const WAYS = {
  "kvs-client": ours,
  "by hand: smithy and fetch": byHand,
  "fetch alone, unsigned": unsigned,
  "@upstash/redis": upstash,
  "@adobe/aio-lib-state": adobe,
};

/** A call that waits for a silent server, or for a connection to it. */
export function waiting(origin) {
  return ours(origin, { deadlineSeconds: 3600, attemptSeconds: 3600 });
}
