/**
 * AWS Signature Version 4 for one kind of request: a POST with a body to a known path.
 *
 * `@smithy/signature-v4` signs any request and costs more than the rest of a call (D201). The tests compare both, byte
 * for byte.
 */

import { createHmac, hash } from "node:crypto";

/**
 * @typedef {object} Credentials
 * @property {string} accessKeyId
 * @property {string} secretAccessKey
 * @property {string | undefined} [sessionToken]
 */

const ALGORITHM = "AWS4-HMAC-SHA256";
const SERVICE = "execute-api";

/** Header fields as name, value, name, value.
 * @typedef {string[]} Fields */

export class Signer {
  #region;
  #host;
  #authorization;
  /** The signing key of a secret for a day, which saves four HMACs per request. */
  #key = { secret: "", day: "", bytes: Buffer.alloc(0) };

  /**
   * @param {object} request the common parts of all requests
   * @param {string} request.region
   * @param {string} request.host as it is sent in `Host`
   * @param {string} request.token of the table
   */
  constructor({ region, host, token }) {
    this.#region = region;
    this.#host = host;
    this.#authorization = `Bearer ${token}`;
  }

  /**
   * @param {string} path as on the wire
   * @param {Buffer} body
   * @param {Credentials} credentials
   * @param {Date} at
   * @returns {Fields} all header fields of the request
   */
  sign(path, body, { accessKeyId, secretAccessKey, sessionToken }, at) {
    const instant = at.toISOString().replace(/[:-]|\.\d{3}/g, "");
    const day = instant.slice(0, 8);
    const scope = `${day}/${this.#region}/${SERVICE}/aws4_request`;
    const fields = ["content-type", "application/json", "host", this.#host, "x-amz-date", instant];
    if (sessionToken) fields.push("x-amz-security-token", sessionToken);
    fields.push("x-kvs-authorization", this.#authorization);
    const [canonicalFields, names] = canonical(fields);
    const request = `POST\n${canonicalPath(path)}\n\n${canonicalFields}\n${names}\n${sha256(body)}`;
    const key = this.#keyOf(secretAccessKey, day);
    const signature = hmac(key, `${ALGORITHM}\n${instant}\n${scope}\n${sha256(request)}`).toString("hex");
    const credential = `Credential=${accessKeyId}/${scope}`;
    fields.push("authorization", `${ALGORITHM} ${credential}, SignedHeaders=${names}, Signature=${signature}`);
    return fields;
  }

  /** @param {string} secret @param {string} day */
  #keyOf(secret, day) {
    if (this.#key.secret !== secret || this.#key.day !== day) {
      const ofDay = hmac(`AWS4${secret}`, day);
      const bytes = hmac(hmac(hmac(ofDay, this.#region), SERVICE), "aws4_request");
      this.#key = { secret, day, bytes };
    }
    return this.#key.bytes;
  }
}

/**
 * Returns the canonical form of fields, which are sorted by name.
 * @param {Fields} fields
 */
function canonical(fields) {
  let lines = "";
  let names = "";
  for (let at = 0; at < fields.length; at += 2) {
    lines += `${fields[at]}:${fields[at + 1]}\n`;
    names += at === 0 ? fields[at] : `;${fields[at]}`;
  }
  return [lines, names];
}

/** Percent-encodes each segment once more, as all services but S3 do. @param {string} path */
function canonicalPath(path) {
  return /^[\w/.~-]*$/.test(path) ? path : path.split("/").map(encoded).join("/");
}

/** @param {string} segment */
function encoded(segment) {
  return encodeURIComponent(segment).replace(/[!'()*]/g, (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** @param {string | Buffer} content */
function sha256(content) {
  return hash("sha256", content, "hex");
}

/** @param {string | Buffer} key @param {string} content */
function hmac(key, content) {
  return createHmac("sha256", key).update(content).digest();
}
