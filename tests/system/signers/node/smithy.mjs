import { Sha256 } from "@aws-crypto/sha256-js";
import { HttpRequest } from "@smithy/protocol-http";
import { SignatureV4 } from "@smithy/signature-v4";
import { credentials, makeCalls, region } from "./runtime.mjs";

const signer = new SignatureV4({ service: "execute-api", region, credentials, sha256: Sha256 });

await makeCalls(async (url, headers, body) => {
  const request = new HttpRequest({
    method: "POST",
    protocol: url.protocol,
    hostname: url.hostname,
    port: Number(url.port),
    path: url.pathname,
    headers: { ...headers, host: url.host },
    body,
  });
  const signed = await signer.sign(request);
  const response = await fetch(url, { method: "POST", headers: signed.headers, body });
  return { status: response.status, body: await response.json() };
});
