import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { createContext, runInContext } from "node:vm";
import { build } from "esbuild";
import * as client from "kvs-client";
import * as refused from "../src/refused.js";

const folder = fileURLToPath(new URL(".", import.meta.url));

/**
 * Evaluates an expression in a bundle that runs without Node.
 * @param {string} expression @param {import("esbuild").BuildOptions} target
 */
async function bundled(expression, target) {
  const contents = `import { connect, fromEnv, KvsClient } from "kvs-client"; globalThis.made = () => ${expression};`;
  const stdin = { contents, resolveDir: folder };
  const { outputFiles } = await build({ stdin, bundle: true, format: "iife", write: false, logLevel: "silent", ...target });
  const world = createContext({});
  runInContext(outputFiles?.[0]?.text ?? "", world);
  return runInContext("try { made(); 'made' } catch (error) { `${error.name} ${error.code} ${error.detail}` }", world);
}

const REASON =
  "ConfigurationError browser backend apps only: table tokens delivered to a browser would expose backend storage credentials";

for (const expression of ['fromEnv("notes")', 'connect({url: "https://kvs.example"})', "new KvsClient()"]) {
  for (const target of /** @type {import("esbuild").BuildOptions[]} */ ([
    { platform: "browser" },
    { platform: "neutral", conditions: ["workerd", "worker"] },
    { platform: "neutral", conditions: ["edge-light"] },
    { platform: "browser", minify: true },
  ])) {
    test(`a bundle for ${JSON.stringify(target)} refuses ${expression}, with the reason`, async () => {
      assert.equal(await bundled(expression, target), REASON);
    });
  }
}

test("the refusing package exports the same names", () => {
  assert.deepEqual(Object.keys(refused), Object.keys(client));
});
