/** JSON as bytes: values are stored as they are sent, and a number's spelling must not pass through a `number`. */
/**
 * The JSON of a value. What `stringify` says of a failure may quote the value, and is not told.
 * @param {unknown} value
 * @param {(value: unknown) => string | undefined} stringify
 */
export declare function jsonOf(value: unknown, stringify: (value: unknown) => string | undefined): Buffer<ArrayBufferLike>;
/**
 * Bytes or text that are one JSON value, as bytes. Anything else would not be a value but a part of the request that
 * carries it: `1,"key":"another"` must not become a request for another key.
 * @param {Uint8Array | string} raw
 */
export declare function rawJson(raw: Uint8Array | string): Buffer<ArrayBufferLike>;
/**
 * What JSON in UTF-8 says; throws SyntaxError, which quotes the text.
 * @param {Buffer} bytes
 * @returns {unknown}
 */
export declare function parsed(bytes: Buffer): unknown;
/**
 * The bytes of a member of an object; of repeated names the last counts, as with JSON.parse.
 * @param {Buffer} text valid JSON, an object
 * @param {string} name
 */
export declare function memberOf(text: Buffer, name: string): Buffer<ArrayBufferLike> | undefined;
