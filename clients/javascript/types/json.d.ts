/** JSON as bytes: values are stored unchanged, so a number must not be converted to a `number` and back. */
/**
 * Encodes a value as JSON. The error of `stringify` is dropped: its message may quote the value.
 * @param {unknown} value
 * @param {(value: unknown) => string | undefined} stringify
 */
export declare function jsonOf(value: unknown, stringify: (value: unknown) => string | undefined): Buffer<ArrayBufferLike>;
/**
 * Returns bytes or text that are one JSON value, as bytes. Anything else would change the request around it:
 * `1,"key":"another"` would become a request for another key.
 * @param {Uint8Array | string} raw
 */
export declare function rawJson(raw: Uint8Array | string): Buffer<ArrayBufferLike>;
/**
 * Parses JSON in UTF-8; throws SyntaxError, whose message quotes the text.
 * @param {Buffer} bytes
 * @returns {unknown}
 */
export declare function parsed(bytes: Buffer): unknown;
/**
 * Returns the bytes of a member of an object; the last of repeated names counts, as in JSON.parse.
 * @param {Buffer} text valid JSON, an object
 * @param {string} name
 */
export declare function memberOf(text: Buffer, name: string): Buffer<ArrayBufferLike> | undefined;
