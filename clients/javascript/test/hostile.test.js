/** Malformed answers: every call ends by its deadline, with an entry or a KvsError. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { test } from "node:test";
import { connect, KvsError } from "kvs-client";
import { CREDENTIALS, TOKEN } from "./server.js";

const MISSING = '{"found":false,"expiresAt":null}';
const HEAD = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
const CHUNKED = `${HEAD}Transfer-Encoding: chunked\r\n`;
const CHUNK = `${MISSING.length.toString(16)}\r\n${MISSING}\r\n`;

/** A Retry-After beyond every deadline. */
const ONCE = { backoffBaseSeconds: 1e12, backoffCapSeconds: 1e12 };

/** @param {string | Buffer} body @param {string} [head] */
const sized = (body, head = HEAD) => Buffer.concat([Buffer.from(`${head}Content-Length: ${body.length}\r\n\r\n`), Buffer.from(body)]);

/** Parts that the server sends, the second one endlessly, and the code of the error; undefined for an entry or none.
 * @type {Record<string, [(string | Buffer)[], string | undefined]>} */
const SENT = {
  "no HTTP": [["hello\r\n\r\n"], "no_answer"],
  "another protocol": [["HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"], "no_answer"],
  "endless 100": [["", "HTTP/1.1 100 Continue\r\n\r\n"], "no_answer"],
  "endless 103": [["", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"], "no_answer"],
  "an answer after 103": [["HTTP/1.1 103 Early Hints\r\nX: y\r\n\r\n", sized(MISSING)], undefined],
  "an answer after 100": [["HTTP/1.1 100 Continue\r\n\r\n", sized(MISSING)], undefined],
  "an answer after 100 in one packet": [[`HTTP/1.1 100 Continue\r\nX: y\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n${sized(MISSING)}`], undefined],
  "100 answers before an answer": [["HTTP/1.1 100 Continue\r\n\r\n".repeat(100) + sized(MISSING)], undefined],
  "2,000 answers before an answer": [["HTTP/1.1 100 Continue\r\n\r\n".repeat(2000) + sized(MISSING)], "no_answer"],
  "an informational answer without an end": [["HTTP/1.1 103 Early Hints\r\nX: ", "x".repeat(5000)], "no_answer"],
  "half an informational answer": [["HTTP/1.1 1"], "no_answer"],
  "another version": [["HTTP/2 200 OK\r\n\r\n"], "no_answer"],
  "a body longer than its length": [[`${sized(MISSING)}x`], undefined],
  "a body shorter than its length": [[`${HEAD}Content-Length: 50\r\n\r\n${MISSING}`], "no_answer"],
  "an endless body": [[`${CHUNKED}\r\n`, `2710\r\n${"x".repeat(10_000)}\r\n`], "answer_too_large"],
  "a coding": [[sized(MISSING, `${HEAD}Content-Encoding: gzip\r\n`)], "unexpected_content_coding"],
  "a byte order mark": [[sized(`\ufeff${MISSING}`)], "malformed_answer"],
  "NaN": [[sized('{"found":true,"value":NaN,"expiresAt":null}')], "malformed_answer"],
  "an expiry that is no instant": [[sized('{"found":true,"value":1,"expiresAt":"2026-02-31T99:00:00Z"}')], "malformed_answer"],
  "an expiry that is an object": [[sized('{"found":true,"value":1,"expiresAt":{}}')], "malformed_answer"],
  "an error that is an object": [[sized('{"error":{"x":1}}', "HTTP/1.1 400 Bad\r\nContent-Type: application/json\r\n")], "http_400"],
  "an unknown status": [[sized(MISSING, "HTTP/1.1 999 Any\r\n")], "http_999"],
  "an endless field": [[`${HEAD}X: `, "a".repeat(10_000)], "no_answer"],
  "endless fields": [[HEAD, "X: y\r\n".repeat(1000)], "no_answer"],
  "a trailer": [[`${CHUNKED}\r\n${CHUNK}0\r\nx-request-id: other\r\n\r\n`], undefined],
  "endless trailers": [[`${CHUNKED}\r\n${CHUNK}0\r\n`, `x: ${"y".repeat(1000)}\r\n`], "no_answer"],
  "a chunk of no size": [[`${CHUNKED}\r\nxyz\r\n${MISSING}\r\n`], "no_answer"],
  "chunks with a length": [[`${CHUNKED}Content-Length: 3\r\n\r\n${CHUNK}0\r\n\r\n`], "no_answer"],
  "two lengths": [[`${HEAD}Content-Length: 3\r\nContent-Length: 32\r\n\r\n${MISSING}`], "no_answer"],
  "a negative length": [[`${HEAD}Content-Length: -1\r\n\r\n${MISSING}`], "no_answer"],
  "a field twice": [[sized(MISSING, `${HEAD}Content-Type: text/html\r\n`)], "unexpected_content_type"],
  "a value that is not UTF-8": [[sized(Buffer.from('{"found":true,"value":"\xff","expiresAt":null}', "latin1"))], "malformed_answer"],
  "a name of JavaScript": [[sized('{"found":true,"value":1,"__proto__":{"found":false},"expiresAt":null}')], undefined],
  "a deep error": [[sized("[".repeat(400_000), "HTTP/1.1 400 Bad\r\nContent-Type: application/json\r\n")], "http_400"],
};

/** @param {import("node:test").TestContext} context @param {(string | Buffer)[]} parts */
async function startSending(context, [first = "", again]) {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => {
      socket.write(first);
      const timer = again === undefined ? undefined : setInterval(() => socket.write(again), 5);
      socket.on("close", () => clearInterval(timer));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  context.after(() => server.close());
  return /** @type {import("node:net").AddressInfo} */ (server.address()).port;
}

for (const [name, [parts, code]] of Object.entries(SENT)) {
  test(`${name} comes to ${code ?? "no error"}`, async (context) => {
    const url = `http://127.0.0.1:${await startSending(context, parts)}`;
    const credentials = async () => CREDENTIALS;
    const attemptSeconds = code === "no_answer" ? 0.5 : 60;
    const client = connect({ url, region: "r", token: TOKEN, credentials, deadlineSeconds: 60, attemptSeconds, ...ONCE });
    context.after(() => client.close());
    const outcome = await client.get("k").catch((error) => error);
    if (code === undefined) return assert.ok(outcome === undefined || outcome.value === 1);
    assert.ok(outcome instanceof KvsError);
    assert.ok(!JSON.stringify(outcome).includes("hidden"));
    assert.equal(outcome.code, code);
  });
}

test("an unsolicited answer is not used for a later call", async (context) => {
  const forged = sized('{"found":true,"value":"forged","expiresAt":null}');
  const port = await startSending(context, [Buffer.concat([sized(MISSING), forged])]);
  const client = connect({ url: `http://127.0.0.1:${port}`, region: "r", token: TOKEN, credentials: async () => CREDENTIALS });
  context.after(() => client.close());
  for (let round = 0; round < 5; round += 1) assert.equal(await client.get("k"), undefined);
});
