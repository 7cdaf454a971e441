import assert from "node:assert/strict";
import { test } from "node:test";
import { InvalidAnswer, NotAuthorized, RateLimited, Unavailable } from "kvs-client";
import { RateLimitGate } from "../src/rate-limit-gate.js";
import { isRepeated, pauseSeconds, retryAfterSecondsOf } from "../src/retries.js";

const BACKOFF = { backoffBaseSeconds: 0.1, backoffCapSeconds: 1 };
const SITUATION = { repetition: 0, retryAfterSeconds: undefined, remainingSeconds: 100, random: 1 };

/** @param {Partial<import("../src/retries.js").Situation>} changes */
const pause = (changes) => pauseSeconds({ ...SITUATION, ...changes }, BACKOFF);

test("a pause is random below a bound that doubles up to the cap", () => {
  assert.deepEqual([0, 1, 2, 3, 4, 50, 2000].map((repetition) => pause({ repetition })), [0.1, 0.2, 0.4, 0.8, 1, 1, 1]);
  assert.equal(pause({ repetition: 3, random: 0 }), 0);
  assert.equal(pause({ repetition: 3, random: 0.5 }), 0.4);
});

test("a random part is added to Retry-After", () => {
  assert.equal(pause({ retryAfterSeconds: 7, random: 0 }), 7);
  assert.equal(pause({ retryAfterSeconds: 7, random: 0.25 }), 7.25);
});

test("a random part that would pass the deadline is cut to half of the time left", () => {
  assert.equal(pause({ retryAfterSeconds: 7, remainingSeconds: 7.5 }), 7.25);
});

test("a pause that would pass the deadline is undefined", () => {
  assert.equal(pause({ retryAfterSeconds: 7, remainingSeconds: 7 }), undefined);
  assert.equal(pause({ remainingSeconds: 0.05 }), undefined);
});

test("only whole seconds up to a day are a Retry-After", () => {
  assert.deepEqual(["0", "1", "86400"].map(retryAfterSecondsOf), [0, 1, 86_400]);
  const others = [undefined, "", "-1", "+1", "1.5", "1e3", " 1", "86401", "99999999999999999999", "٣", "1, 1", "Fri, 31 Dec 2100 23:59:59 GMT"];
  assert.deepEqual(others.map(retryAfterSecondsOf), others.map(() => undefined));
});

test("only 429, 502, 503, 504 and missing answers are retried", () => {
  const facts = { code: "c", detail: "" };
  const repeated = [502, 503, 504, undefined].map((status) => new Unavailable({ ...facts, status }));
  assert.ok([...repeated, new RateLimited({ ...facts, status: 429, retryAfterSeconds: 1 })].every(isRepeated));
  const others = [500, 501, 505, 408].map((status) => new Unavailable({ ...facts, status }));
  assert.ok(![...others, new NotAuthorized(facts), new InvalidAnswer(facts), new Error("x"), undefined].some(isRepeated));
});

/** @param {number | undefined} retryAfterSeconds */
const refusal = (retryAfterSeconds) =>
  new RateLimited({ code: "rate_limited", detail: "d", status: 429, requestId: "r", retryAfterSeconds });

test("the gate refuses calls until Retry-After has passed", () => {
  const gate = new RateLimitGate();
  assert.equal(gate.refusal(0), undefined);
  gate.note(refusal(10), 1000);
  const remembered = gate.refusal(9500);
  assert.deepEqual({ ...remembered }, { ...refusal(2) });
  assert.equal(gate.secondsUntilOpen(9500), 1.5);
  assert.equal(gate.refusal(11_000), undefined);
});

test("the longest Retry-After counts, and a 429 without one does not close the gate", () => {
  const gate = new RateLimitGate();
  gate.note(refusal(undefined), 0);
  assert.equal(gate.refusal(0), undefined);
  gate.note(refusal(10), 0);
  gate.note(refusal(1), 5000);
  assert.equal(gate.secondsUntilOpen(5000), 5);
});
