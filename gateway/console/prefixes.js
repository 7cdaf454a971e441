/** Search by the beginning of a name: lists are sorted, so a search is a page that begins at the right place. */

import { call, listPath } from "./api.js";

const CHARACTERS = "-.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";
const LONGEST = 64;
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/**
 * The place right before every name that begins with `prefix`, as a list's `after`; null for the list's own beginning.
 *
 * It is the greatest name that sorts before the prefix: the last character lowered by one, then filled up with the
 * greatest character. Characters that sort before the separator of `app/env` have no such name, so they are left off.
 */
function placeBefore(prefix) {
  const settled = prefix.replace(/[-.]+$/, "");
  if (settled === "") return null;
  const lower = CHARACTERS[CHARACTERS.indexOf(settled.at(-1)) - 1];
  const begin = settled.slice(0, -1);
  if (begin === "" && !/[A-Za-z0-9]/.test(lower)) return lower === "_" ? "Z".padEnd(LONGEST, "z") : null;
  return (begin + lower).padEnd(LONGEST, "z");
}

/** The part of a list that a query asks for: `found`, and the place to go on from, or null. */
export async function findPage(path, { search: prefix = "", after }, limit, signal) {
  if (prefix && !NAME.test(prefix)) return { found: [], next: null };
  const { json, next } = await call("GET", listPath(path, { after: after ?? placeBefore(prefix), limit }), { signal });
  const last = json.at(-1)?.id ?? "";
  const isBehind = last > prefix && !last.startsWith(prefix);
  return { found: json.filter(({ id }) => id.startsWith(prefix)), next: isBehind ? null : next };
}
