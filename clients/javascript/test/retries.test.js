import assert from "node:assert/strict";
import { test } from "node:test";
import { InvalidAnswer, NotAuthorized, RateLimited, Unavailable } from "kvs-client";
import { Limit } from "../src/limit.js";
import { isRepeated, pauseSeconds, retryAfterSecondsOf } from "../src/retries.js";

const BACKOFF = { backoffBaseSeconds: 0.1, backoffCapSeconds: 1 };
const SITUATION = { repetition: 0, retryAfterSeconds: undefined, remainingSeconds: 100, random: 1 };

/** @param {Partial<import("../src/retries.js").Situation>} changes */
const pause = (changes) => pauseSeconds({ ...SITUATION, ...changes }, BACKOFF);

test("the bound of a pause doubles up to the cap, and the pause is anything below it", () => {
  assert.deepEqual([0, 1, 2, 3, 4, 50, 2000].map((repetition) => pause({ repetition })), [0.1, 0.2, 0.4, 0.8, 1, 1, 1]);
  assert.equal(pause({ repetition: 3, random: 0 }), 0);
  assert.equal(pause({ repetition: 3, random: 0.5 }), 0.4);
});

test("after Retry-After the random part comes on top", () => {
  assert.equal(pause({ retryAfterSeconds: 7, random: 0 }), 7);
  assert.equal(pause({ retryAfterSeconds: 7, random: 0.25 }), 7.25);
});

test("a random part that would end after the deadline is cut to half of what is left", () => {
  assert.equal(pause({ retryAfterSeconds: 7, remainingSeconds: 7.5 }), 7.25);
});

test("a pause that would end after the deadline is not made", () => {
  assert.equal(pause({ retryAfterSeconds: 7, remainingSeconds: 7 }), undefined);
  assert.equal(pause({ remainingSeconds: 0.05 }), undefined);
});

test("only whole seconds up to a day are a Retry-After", () => {
  assert.deepEqual(["0", "1", "86400"].map(retryAfterSecondsOf), [0, 1, 86_400]);
  const others = [undefined, "", "-1", "+1", "1.5", "1e3", " 1", "86401", "99999999999999999999", "٣", "1, 1", "Fri, 31 Dec 2100 23:59:59 GMT"];
  assert.deepEqual(others.map(retryAfterSecondsOf), others.map(() => undefined));
});

test("429, 502, 503, 504 and silence are repeated, nothing else", () => {
  const facts = { code: "c", detail: "" };
  const repeated = [502, 503, 504, undefined].map((status) => new Unavailable({ ...facts, status }));
  assert.ok([...repeated, new RateLimited({ ...facts, status: 429, retryAfterSeconds: 1 })].every(isRepeated));
  const others = [500, 501, 505, 408].map((status) => new Unavailable({ ...facts, status }));
  assert.ok(![...others, new NotAuthorized(facts), new InvalidAnswer(facts), new Error("x"), undefined].some(isRepeated));
});

/** @param {number | undefined} retryAfterSeconds */
const refusal = (retryAfterSeconds) =>
  new RateLimited({ code: "rate_limited", detail: "d", status: 429, requestId: "r", retryAfterSeconds });

test("a limit answers by itself until the seconds of Retry-After are over", () => {
  const limit = new Limit();
  assert.equal(limit.refusal(0), undefined);
  limit.note(refusal(10), 1000);
  const remembered = limit.refusal(9500);
  assert.deepEqual({ ...remembered }, { ...refusal(2) });
  assert.equal(limit.secondsUntilOpen(9500), 1.5);
  assert.equal(limit.refusal(11_000), undefined);
});

test("the answer that opens last counts, and one that does not say when closes nothing", () => {
  const limit = new Limit();
  limit.note(refusal(undefined), 0);
  assert.equal(limit.refusal(0), undefined);
  limit.note(refusal(10), 0);
  limit.note(refusal(1), 5000);
  assert.equal(limit.secondsUntilOpen(5000), 5);
});
