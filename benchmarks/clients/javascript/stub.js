/** A server that reads what it is sent and answers at once, in each client's way; prints its port. */

import { createServer } from "node:http";

const ANSWERS = new Map(
  Object.entries({ "/v1/put": { ok: true }, "/": { result: "OK" } }).map(([path, body]) => [path, Buffer.from(JSON.stringify(body))]),
);

const isSilent = process.argv.includes("--silent");

const server = createServer((request, response) => {
  request.resume();
  if (isSilent) return;
  request.on("end", () => {
    const body = ANSWERS.get(request.url ?? "");
    const fields = { "content-type": "application/json", "x-request-id": "b60a1f2c" };
    response.writeHead(200, { ...fields, "content-length": body?.length ?? 0 }).end(body);
  });
});
server.keepAliveTimeout = 60_000;
server.listen({ port: 0, host: "127.0.0.1", backlog: 4096 }, () => console.log(server.address().port));
