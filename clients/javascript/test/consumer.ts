/** What an app in TypeScript writes: compiled by the tests, not run. */

import { connect, type Entry, fromEnv, KvsClient, KvsError, type Options, RateLimited } from "kvs-client";
import { startGateway } from "kvs-client/testing";

interface Note {
  text: string;
}

const options: Options = { deadlineSeconds: 1, parse: (text) => JSON.parse(text) };
export const notes: KvsClient = fromEnv("notes", { ...options, env: { SERVICE_KVS_URL: "" } });
export const others: KvsClient = connect({ url: "", region: "", token: "", ...options });

export async function read(key: string, signal: AbortSignal): Promise<Note | undefined> {
  const entry: Entry<Note> | undefined = await notes.get<Note>(key, { signal });
  const raw: Uint8Array | undefined = (await notes.getRaw(key))?.value;
  await notes.put(key, { text: "" } satisfies Note, { ttlSeconds: raw?.length ?? undefined });
  await notes.putRaw(key, new Uint8Array(), { ttlSeconds: 60, deadlineSeconds: 1 });
  const made: number = await notes.withPrefix("p:").getOrSet(key, async () => 1, { ttlSeconds: 60 });
  const expiry: Date | null | undefined = entry?.expiresAt;
  return made === 0 && expiry === null ? undefined : entry?.value;
}

export function explain(error: unknown): string {
  if (error instanceof RateLimited) return `in ${error.retryAfterSeconds?.toFixed() ?? "some"} s`;
  if (error instanceof KvsError) return `${error.status?.toFixed()} ${error.code} ${error.requestId?.trim()} ${error.hint}`;
  return "";
}

export async function test(): Promise<void> {
  await using gateway = await startGateway({ tables: ["notes"], command: ["kvs-gateway"] });
  const sessions: KvsClient = gateway.open("notes", { connections: 1 });
  // @ts-expect-error the TTL is an option
  await sessions.put("k", 1, 60);
  // @ts-expect-error no such option
  await sessions.put("k", 1, { ttl: 60 });
  await sessions.close();
}
