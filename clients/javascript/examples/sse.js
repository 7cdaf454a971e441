/**
 * Server-sent events that survive a restart of the server: each reader continues after the last event it got.
 *
 *     curl -N 'http://127.0.0.1:3000/?reader=ann'
 */

import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { fromEnv, KvsError } from "kvs-client";

const DAY_SECONDS = 86_400;
const readers = fromEnv("sessions").withPrefix("readers:");

/**
 * Sends numbered events until the reader leaves, and stores the number of each before it is sent.
 * @param {string} reader
 * @param {import("node:http").ServerResponse} response
 * @param {AbortSignal} left
 */
async function sendEvents(reader, response, left) {
  const entry = await readers.get(reader, { signal: left });
  let number = entry?.value.last ?? 0;
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
  for (;;) {
    number += 1;
    await readers.put(reader, { last: number }, { ttlSeconds: DAY_SECONDS, signal: left });
    response.write(`id: ${number}\ndata: event ${number}\n\n`);
    await sleep(1000, undefined, { signal: left });
  }
}

const server = createServer(async (request, response) => {
  const reader = new URL(request.url ?? "/", "http://localhost").searchParams.get("reader");
  if (reader === null) return void response.writeHead(400).end("?reader= is missing\n");
  const leaving = new AbortController();
  response.on("close", () => leaving.abort());
  try {
    await sendEvents(reader, response, leaving.signal);
  } catch (error) {
    if (leaving.signal.aborted) return;
    console.error(error instanceof KvsError ? JSON.stringify(error) : error);
    if (response.headersSent) response.destroy();
    else response.writeHead(503, { "retry-after": "1" }).end("try again\n");
  }
});

server.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", () => {
  const address = server.address();
  console.log(`http://127.0.0.1:${typeof address === "object" && address ? address.port : ""}`);
});
