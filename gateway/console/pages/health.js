/** The replica that answers, what it depends on, and its configuration. */

import { Refusal, ask } from "../api.js";
import { h, instant } from "../html.js";
import { heading } from "../parts/heading.js";
import { badge, empty, facts } from "../parts/listing.js";

const INSTANT = /^\d{4}-\d\d-\d\dT/;

export async function health(_, { signal }) {
  const told = await read(signal);
  const head = heading([], "Health", { eyebrow: "The replica that answers", beside: told?.status ? badge(told.status) : null });
  if (told === null) {
    return { title: "Health", content: [head, empty("This gateway does not tell its health here.",
      h("p", { class: "quiet" }, "Its ops listener does, at /readyz and /metrics."))] };
  }
  const { dependencies = {}, ...rest } = told;
  return {
    title: "Health",
    state: JSON.stringify([told.status, dependencies, told.version]),
    content: [
      head,
      h("h2", {}, "Dependencies"),
      facts(Object.entries(dependencies).map(([name, state]) => [name, badge(String(state))])),
      h("h2", {}, "Replica"),
      facts(Object.entries(rest).filter(([name]) => name !== "status").map(([name, value]) => [titleOf(name), wordOf(value)].flat(Infinity))),
    ],
  };
}

async function read(signal) {
  try {
    return await ask("GET", "/v1/health", { signal });
  } catch (error) {
    if (error instanceof Refusal && error.status === 404) return null;
    throw error;
  }
}

/** `clock_skew_seconds` as "Clock skew (seconds)". */
function titleOf(name) {
  const words = name.replace(/_(seconds|bytes)$/, " ($1)").replaceAll("_", " ");
  return words[0].toUpperCase() + words.slice(1);
}

function wordOf(value) {
  if (value === null || (typeof value === "object" && Object.keys(value).length === 0)) return "–";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value)) return value.join(", ");
  if (typeof value === "string" && INSTANT.test(value)) return instant(value);
  if (typeof value !== "object") return String(value);
  return Object.entries(value).flatMap(([name, part], index) => [`${index ? ", " : ""}${name.replaceAll("_", " ")}: `, wordOf(part)]);
}
