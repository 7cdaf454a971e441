import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** Runs the compiler; an error contains its output. @param {string[]} options */
async function compile(...options) {
  const command = [join(ROOT, "node_modules", "typescript", "bin", "tsc"), ...options];
  await promisify(execFile)(process.execPath, command, { cwd: ROOT }).catch(({ stdout }) => assert.fail(stdout));
}

/** @param {string} folder */
async function texts(folder) {
  const names = (await readdir(folder)).sort();
  return Promise.all(names.map(async (name) => [name, await readFile(join(folder, name), "utf8")]));
}

test("sources, tests, examples and a TypeScript app have no type errors", async () => {
  await compile("--noEmit");
});

test("the types in the package are those of the sources", async (context) => {
  const scratch = await mkdtemp(join(tmpdir(), "types-"));
  context.after(() => rm(scratch, { recursive: true }));
  await compile("--project", "tsconfig.types.json", "--outDir", scratch);
  assert.deepEqual(await texts(join(ROOT, "types")), await texts(scratch));
});

test("the map of the sources names every file", async () => {
  const map = await readFile(join(ROOT, "src", "index.js"), "utf8");
  const named = [...map.matchAll(/(?: \* |; )([a-z-]+) {2,}\S|; ([a-z-]+): /g)].map((match) => `${match[1] ?? match[2]}.js`);
  const present = (await readdir(join(ROOT, "src"))).filter((name) => name !== "index.js");
  assert.deepEqual(named.sort(), present.sort());
});

test("the lock file names no registry", async () => {
  assert.doesNotMatch(await readFile(join(ROOT, "package-lock.json"), "utf8"), /"resolved"/);
});
