/**
 * Informational answers (100 to 199, without 101) are removed from the bytes of a connection: a proxy may send them
 * unasked, and undici fails on 100.
 */

import { Buffer } from "node:buffer";

const MOST_BYTES = 32_768;
const NONE = Buffer.alloc(0);
const BEGINNING = "HTTP/1.1 1";
const STATUS_BYTES = "HTTP/1.1 100 ".length;
const STATUS_LINE = /^HTTP\/1\.1 1(?!01)\d\d[ \r]/;
const END_OF_HEAD = "\r\n\r\n";

/**
 * Removes informational answers from what the socket reads after each write.
 * @template {import("node:net").Socket} S
 * @param {S} socket
 */
export function skipInformational(socket) {
  const { read, write } = socket;
  const filter = new InformationalFilter();
  socket.write = function (/** @type {any[]} */ ...parts) {
    filter.begin();
    return Reflect.apply(write, socket, parts);
  };
  socket.read = function (size) {
    for (;;) {
      const chunk = Reflect.apply(read, socket, [size]);
      if (chunk === null) return null;
      const passed = filter.pass(chunk);
      if (passed === undefined) {
        socket.destroy(new TooMany());
        return null;
      }
      if (passed.length > 0) return passed;
    }
  };
  return socket;
}

/** Looks at the bytes of one answer until its final head begins. */
class InformationalFilter {
  #isLooking = false;
  /** @type {Buffer} */
  #held = NONE;
  #bytesLeft = 0;

  begin() {
    this.#isLooking = true;
    this.#bytesLeft = MOST_BYTES;
  }

  /** Returns the bytes that belong to the final answer, undefined if there are too many others. @param {Buffer} chunk */
  pass(chunk) {
    if (!this.#isLooking) return chunk;
    let bytes = this.#held.length > 0 ? Buffer.concat([this.#held, chunk]) : chunk;
    this.#held = NONE;
    while (isInformational(bytes)) {
      const end = bytes.indexOf(END_OF_HEAD);
      const size = end < 0 ? bytes.length : end + END_OF_HEAD.length;
      if (size > this.#bytesLeft) return undefined;
      if (end < 0) {
        this.#held = bytes;
        return NONE;
      }
      this.#bytesLeft -= size;
      bytes = bytes.subarray(size);
    }
    this.#isLooking = bytes.length === 0;
    return bytes;
  }
}

/** Also true for a beginning that is too short to decide. @param {Buffer} bytes */
function isInformational(bytes) {
  if (bytes.length === 0) return false;
  const start = bytes.toString("latin1", 0, STATUS_BYTES);
  if (start.length < STATUS_BYTES) return start.startsWith(BEGINNING) || BEGINNING.startsWith(start);
  return STATUS_LINE.test(start);
}

/** The informational answers are longer than the head of an answer may be. */
class TooMany extends Error {
  code = "EMSGSIZE";
}
