/** JSON as bytes: values are stored unchanged, so a number must not be converted to a `number` and back. */

import { isUtf8 } from "node:buffer";
import { InvalidRequest } from "./errors.js";

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const CLOSING_BRACE = 0x7d;

/**
 * Encodes a value as JSON. The error of `stringify` is dropped: its message may quote the value.
 * @param {unknown} value
 * @param {(value: unknown) => string | undefined} stringify
 */
export function jsonOf(value, stringify) {
  let text;
  try {
    text = stringify(value);
  } catch {
    throw invalidValue("cannot be encoded as JSON: contains a BigInt or a circular reference");
  }
  if (text === undefined) throw invalidValue(`cannot be encoded as JSON: ${typeof value}`);
  return stringify === JSON.stringify ? Buffer.from(text) : rawJson(text);
}

/**
 * Returns bytes or text that are one JSON value, as bytes. Anything else would change the request around it:
 * `1,"key":"another"` would become a request for another key.
 * @param {Uint8Array | string} raw
 */
export function rawJson(raw) {
  if (typeof raw !== "string" && !(raw instanceof Uint8Array)) throw invalidValue("expected a Uint8Array or a string");
  const bytes = typeof raw === "string" ? Buffer.from(raw) : Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength);
  if (!isJson(bytes)) throw invalidValue("expected exactly one JSON value in UTF-8");
  return bytes;
}

/** @param {string} reason */
function invalidValue(reason) {
  return new InvalidRequest({ code: "invalid_value", detail: `value: ${reason}` });
}

/** @param {Buffer} bytes */
function isJson(bytes) {
  try {
    parsed(bytes);
    return true;
  } catch {
    return false;
  }
}

/**
 * Parses JSON in UTF-8; throws SyntaxError, whose message quotes the text.
 * @param {Buffer} bytes
 * @returns {unknown}
 */
export function parsed(bytes) {
  if (!isUtf8(bytes)) throw new SyntaxError("not UTF-8");
  return JSON.parse(bytes.toString());
}

/**
 * Returns the bytes of a member of an object; the last of repeated names counts, as in JSON.parse.
 * @param {Buffer} text valid JSON, an object
 * @param {string} name
 */
export function memberOf(text, name) {
  let member;
  let at = afterBlanks(text, afterBlanks(text, 0) + 1);
  while (text[at] !== CLOSING_BRACE) {
    const nameEnd = endOfString(text, at);
    const start = afterBlanks(text, afterBlanks(text, nameEnd) + 1);
    const end = endOfValue(text, start);
    if (JSON.parse(text.toString("utf8", at, nameEnd)) === name) member = text.subarray(start, end);
    at = afterBlanks(text, end);
    if (text[at] === COMMA) at = afterBlanks(text, at + 1);
  }
  return member;
}

/** @param {Buffer} text @param {number} at */
function afterBlanks(text, at) {
  while (isBlank(text[at])) at += 1;
  return at;
}

/** @param {number | undefined} byte */
function isBlank(byte) {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** @param {Buffer} text @param {number} start of the opening quote */
function endOfString(text, start) {
  let at = start + 1;
  while (text[at] !== QUOTE) at += text[at] === BACKSLASH ? 2 : 1;
  return at + 1;
}

/** @param {Buffer} text @param {number} start */
function endOfValue(text, start) {
  if (text[start] === QUOTE) return endOfString(text, start);
  let depth = 0;
  for (let at = start; ; ) {
    const byte = text[at];
    if (byte === QUOTE) {
      at = endOfString(text, at);
      continue;
    }
    // "[" and "{" differ only in the bit that makes a letter lower case, and so do "]" and "}".
    const folded = byte === undefined ? byte : byte | 0x20;
    if (folded === 0x7b) depth += 1;
    else if (depth === 0 && (folded === 0x7d || byte === COMMA || isBlank(byte))) return at;
    else if (folded === 0x7d && --depth === 0) return at + 1;
    at += 1;
  }
}
