/** Detects changes by others while a form is open, before the form overwrites them. */

import { Refusal, ask } from "./api.js";

const LABELS = { type: "Type", requests_per_minute: "Requests per minute", minute_limit: "Requests per minute", max_tables: "Maximum number of tables", max_bytes: "Storage limit in bytes" };

/**
 * A `send` function for a form that edits `fields` of the resource at `path`; `shown` is the resource when the form
 * opened.
 *
 * Only changed fields are sent. If someone else changed one of the fields meanwhile, the first submission fails and
 * names the current values; the second submission overwrites them.
 */
export function sendUnlessChanged(path, shown, fields, read) {
  let known = shown;
  return async (given) => {
    const wanted = read(given);
    const body = Object.fromEntries(fields.filter((name) => wanted[name] !== shown[name]).map((name) => [name, wanted[name]]));
    const now = await ask("GET", path);
    const others = fields.filter((name) => now[name] !== known[name]);
    known = now;
    if (others.length) throw new Refusal(409, "changed_meanwhile", `Current values: ${others.map((name) => `${LABELS[name] ?? name} ${now[name]}`).join(", ")}.`, null);
    return Object.keys(body).length ? ask("PATCH", path, { body }) : now;
  };
}
