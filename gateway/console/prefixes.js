/** Search by name prefix. Lists are sorted, so a search is a page that starts just before the prefix. */

import { call, listPath } from "./api.js";

const CHARACTERS = "-.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";
const LONGEST = 64;
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/**
 * The cursor (`after`) just before all names that start with `prefix`; null for the start of the list.
 *
 * It is the greatest name that sorts before the prefix: the last character lowered by one, padded with the greatest
 * character. `-` and `.` sort before the `/` of `app/env`, so a prefix that ends with them has no such name; they are
 * cut off, and the page may start with some names that do not match.
 */
function cursorBefore(prefix) {
  const settled = prefix.replace(/[-.]+$/, "");
  if (settled === "") return null;
  const lower = CHARACTERS[CHARACTERS.indexOf(settled.at(-1)) - 1];
  const begin = settled.slice(0, -1);
  if (begin === "" && !/[A-Za-z0-9]/.test(lower)) return lower === "_" ? "Z".padEnd(LONGEST, "z") : null;
  return (begin + lower).padEnd(LONGEST, "z");
}

/** One page of a search: the matches, and the cursor of the next page or null. */
export async function findPage(path, { search: prefix = "", after }, limit, signal) {
  if (prefix && !NAME.test(prefix)) return { found: [], next: null };
  const { json, next } = await call("GET", listPath(path, { after: after ?? cursorBefore(prefix), limit }), { signal });
  const last = json.at(-1)?.id ?? "";
  const isBehind = last > prefix && !last.startsWith(prefix);
  return { found: json.filter(({ id }) => id.startsWith(prefix)), next: isBehind ? null : next };
}
