/**
 * Informational answers (100 to 199, without 101) are removed from the bytes of a connection: a proxy may send them
 * unasked, and undici fails on 100.
 */
/**
 * Removes informational answers from what the socket reads after each write.
 * @template {import("node:net").Socket} S
 * @param {S} socket
 */
export declare function skipInformational<S extends import("node:net").Socket>(socket: S): S;
