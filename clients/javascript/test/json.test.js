import assert from "node:assert/strict";
import { test } from "node:test";
import { InvalidRequest } from "kvs-client";
import { jsonOf, memberOf, rawJson } from "../src/json.js";

/** @param {string} text @param {string} name */
const member = (text, name) => memberOf(Buffer.from(text), name)?.toString();

const VALUES = [
  "null", "true", "-0.10e+5", "123456789012345678901234567890", '""', '"\\""', '"\\\\"', '"}]{[,:"', '"ü😀\\ud800"',
  "[]", "{}", "[1, [2, {\"value\": 3}], \"]\"]", '{"value": {"value": "}"}, "found": [false]}', "[\n]", ' "blank" '.trim(),
];

test("a member is extracted byte for byte, at any position", () => {
  for (const value of VALUES) {
    for (const text of [
      `{"value":${value}}`,
      `{"found":true,"value":${value},"expiresAt":null}`,
      ` \t{\r\n"a" : [ ${value} ] , "value" : ${value} , "b":${value} }\n`,
      `{"\\u0076alue":${value}}`,
    ]) {
      assert.equal(member(text, "value"), value);
      assert.deepEqual(JSON.parse(value), JSON.parse(text).value);
    }
  }
});

test("the last of repeated names counts, as in JSON.parse", () => {
  assert.equal(member('{"value":1,"value":2}', "value"), "2");
});

test("a missing member is undefined", () => {
  assert.equal(member('{"values":1,"a":{"value":2}}', "value"), undefined);
  assert.equal(member("{ }", "value"), undefined);
});

test("bytes that are not one JSON value are refused and not quoted", () => {
  const refused = ["", " ", "1,2", '1,"key":"other"', "1}{", "1 2", "NaN", "hidden", '{"a":1', Buffer.from("22ff22", "hex"), "\ufeff1"];
  for (const raw of refused) {
    assert.throws(() => rawJson(raw), (error) => error instanceof InvalidRequest && !String(error).includes("hidden"));
  }
});

test("a view of a larger buffer is sent alone", () => {
  const whole = new Uint8Array(Buffer.from("[1,2,3]"));
  assert.equal(rawJson(whole.subarray(1, 2)).toString(), "1");
});

test("a value that is not JSON is refused", () => {
  const circle = { hidden: {} };
  circle.hidden = circle;
  for (const value of [undefined, () => 1, Symbol("s"), 1n, circle]) {
    assert.throws(() => jsonOf(value, JSON.stringify), (error) => error instanceof InvalidRequest && !String(error).includes("hidden"));
  }
});

test("the output of a custom stringify must be one JSON value", () => {
  assert.equal(jsonOf(12345678901234567890n, (value) => String(value)).toString(), "12345678901234567890");
  assert.throws(() => jsonOf(1, () => '1,"key":"other"'), InvalidRequest);
});
