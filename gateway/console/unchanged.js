/** Changes that somebody else made while a form was open are told before they are overwritten. */

import { Refusal, ask } from "./api.js";

/**
 * A `send` for a form that changes `fields` of what is at `path`, `shown` as it was when the form was opened.
 *
 * Only what the form changes is sent. If the fields are others by now the form says so and stays; sent again it counts.
 */
export function sendUnlessChanged(path, shown, fields, read) {
  let known = shown;
  return async (given) => {
    const wanted = read(given);
    const body = Object.fromEntries(fields.filter((name) => wanted[name] !== shown[name]).map((name) => [name, wanted[name]]));
    const now = await ask("GET", path);
    const others = fields.filter((name) => now[name] !== known[name]);
    known = now;
    if (others.length) throw new Refusal(409, "changed_meanwhile", others.map((name) => `${name} is ${now[name]} now`).join(", "), null);
    return Object.keys(body).length ? ask("PATCH", path, { body }) : now;
  };
}
