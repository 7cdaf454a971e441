import http from "node:http";
import { text } from "node:stream/consumers";
import aws4 from "aws4";
import { credentials, makeCalls, region } from "./runtime.mjs";

function send(options, body) {
  return new Promise((resolve, reject) => {
    const request = http.request(options, async (response) => {
      resolve({ status: response.statusCode, body: JSON.parse(await text(response)) });
    });
    request.on("error", reject);
    request.end(body);
  });
}

await makeCalls((url, headers, body) => {
  const options = {
    service: "execute-api",
    region,
    method: "POST",
    hostname: url.hostname,
    port: url.port,
    path: url.pathname,
    headers,
    body,
  };
  return send(aws4.sign(options, credentials), body);
});
