/**
 * CPU of the client per call, calls per second over one pool, and the memory of waiting calls, against a server on
 * this machine: `npm ci && npm start`, after `npm ci` in clients/javascript. `npm start kvs` measures only those with
 * that in their name.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { waiting, WAYS } from "./ways.js";

const CALLS = Number(process.env.BENCH_CALLS ?? 10_000);
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3);
const ROUND_MS = 5000;
const CALLERS = [1, 64];
const WAITING = 10_000;
const WANTED = process.argv[2] ?? "";

async function startStub(...options) {
  const child = spawn(process.execPath, [fileURLToPath(new URL("stub.js", import.meta.url)), ...options]);
  const [port] = await once(createInterface(child.stdout), "line");
  return { origin: `http://127.0.0.1:${port}`, stop: () => child.kill() };
}

/** Microseconds of processor time, user and system, per call; and calls per second. Slow clients make fewer calls. */
async function measured(call, callers, calls) {
  const [cpu, started] = [process.cpuUsage(), performance.now()];
  let begun = 0;
  const caller = async () => {
    while (begun < calls && performance.now() - started < ROUND_MS) {
      begun += 1;
      await call();
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  const { user, system } = process.cpuUsage(cpu);
  return { cpu: (user + system) / begun, rate: (begun / (performance.now() - started)) * 1000 };
}

/** The best of some rounds: what else runs on the machine only adds. */
async function best(call, callers) {
  const rounds = [];
  for (let round = 0; round < ROUNDS; round += 1) rounds.push(await measured(call, callers, CALLS));
  return { cpu: Math.min(...rounds.map(({ cpu }) => cpu)), rate: Math.max(...rounds.map(({ rate }) => rate)) };
}

/** Bytes of the process's heap and buffers for each call that waits. */
async function memoryOfWaiting() {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc");
  const { origin, stop } = await startStub("--silent");
  const call = waiting(origin);
  const used = () => {
    collect();
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };
  const before = used();
  for (let n = 0; n < WAITING; n += 1) call().catch(() => {});
  await new Promise((resolve) => setTimeout(resolve, 2000));
  const each = (used() - before) / WAITING;
  stop();
  return each;
}

const stub = await startStub();
console.log("| client | callers | CPU per call, µs | calls/s |\n| --- | --- | --- | --- |");
for (const [name, way] of Object.entries(WAYS).filter(([name]) => name.includes(WANTED))) {
  const call = await way(stub.origin);
  await measured(call, 16, CALLS / 5);
  for (const callers of CALLERS) {
    const { cpu, rate } = await best(call, callers);
    console.log(`| ${name} | ${callers} | ${cpu.toFixed(0)} | ${rate.toFixed(0)} |`);
  }
}
stub.stop();
console.log(`\n${WAITING} waiting calls: ${((await memoryOfWaiting()) / 1024).toFixed(1)} KiB each`);
process.exit();
