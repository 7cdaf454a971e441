/** Page of the replica that answers: its dependencies and its configuration. */

import { Refusal, ask } from "../api.js";
import { h, instant } from "../html.js";
import { heading } from "../parts/heading.js";
import { badge, empty, facts } from "../parts/listing.js";

const INSTANT = /^\d{4}-\d\d-\d\dT/;

export async function health(_, { signal }) {
  const report = await read(signal);
  const eyebrow = report?.replica ? `Replica ${report.replica} (one of the replicas)` : null;
  const head = heading([], "Health", { eyebrow, beside: report?.status ? badge(report.status) : null });
  if (report === null) {
    return { title: "Health", content: [head, empty("Health is not available here.",
      h("p", { class: "quiet" }, "Use /readyz and /metrics on the ops listener."))] };
  }
  const { dependencies = {}, ...rest } = report;
  return {
    title: "Health",
    state: JSON.stringify([report.status, dependencies, report.version]),
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

/** Turns `clock_skew_seconds` into "Clock skew (seconds)". */
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
