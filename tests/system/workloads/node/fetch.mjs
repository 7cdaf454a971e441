// The default chain of the AWS SDK for JavaScript fetches credentials, until there are others.

import { setTimeout } from "node:timers/promises";
import { fromNodeProviderChain } from "@aws-sdk/credential-providers";

const provider = fromNodeProviderChain();
for (let last, sets = 0; sets < 2; await setTimeout(100)) {
  const found = await provider();
  if (found.accessKeyId !== last) {
    last = found.accessKeyId;
    sets += 1;
    console.log(JSON.stringify([last, found.secretAccessKey, found.sessionToken]));
  }
}
