/** Page of an app's usage: charts, and the same figures as tables. */

import { Refusal, appPath, ask } from "../api.js";
import { bars, clock, share } from "../chart.js";
import { bytes, figure, h, link } from "../html.js";
import { heading } from "../parts/heading.js";
import { empty, listing } from "../parts/listing.js";
import { explain } from "../refusals.js";
import { address } from "../routes.js";

const RANGES = [["hour", "Last hour"], ["day", "Last day"], ["month", "Last 30 days"]];
const OUTCOMES = ["ok", "not_found", "invalid", "rate_limited", "precondition_failed", "error"];
const NOT_THERE = ["no_usage", "not_found"];

export async function usage(place, { signal }) {
  const range = RANGES.some(([each]) => each === place.query.range) ? place.query.range : "hour";
  const trail = [["Organizations", address.organizations()], [place.org, address.apps(place.org)], [`${place.app} (${place.env})`, address.app(place)]];
  const head = heading(trail, "Usage", { eyebrow: `App · ${place.app}` });
  const report = await read(place, range, signal);
  if (report === null) {
    const { happened, todo } = explain(new Refusal(404, "no_usage", null, null));
    return { title: "Usage", content: [head, empty(happened, h("p", { class: "quiet" }, todo))] };
  }
  const choices = RANGES.map(([each, text]) =>
    h("a", { class: "button", href: address.usage(place, { range: each }), "aria-current": each === range ? "page" : null }, text));
  return {
    title: "Usage",
    state: JSON.stringify(report),
    content: [
      head,
      h("nav", { class: "pager", "aria-label": "Range" }, ...choices),
      h("p", {}, "All tables, right now: ", share(report.used_per_minute, report.requests_per_minute)[1], "."),
      requests([...report.tables, ...report.deleted_tables.map((table) => ({ ...table, name: `${table.name} (deleted)` }))]),
      ...report.tables.map((table) => series(table, place)),
      refusals(Object.entries(report.refusals ?? {})),
    ],
  };
}

/** The usage, or null if no Prometheus is configured. */
async function read(place, range, signal) {
  try {
    return await ask("GET", appPath(place, "/usage", { range }), { signal });
  } catch (error) {
    if (error instanceof Refusal && error.status === 404 && NOT_THERE.includes(error.code)) return null;
    throw error;
  }
}

function requests(tables) {
  if (tables.length === 0) return empty("This app has no tables and had no requests in this period.");
  const columns = [{ title: "Table" }, ...OUTCOMES.map((title) => ({ title, number: true })), { title: "Bytes in", number: true }, { title: "Bytes out", number: true }];
  const row = (table) => [
    table.name, ...OUTCOMES.map((outcome) => figure(table.requests[outcome] ?? 0)), bytes(table.request_bytes), bytes(table.response_bytes),
  ];
  return listing("Requests by outcome, and bytes", columns, tables.map(row), { isCaptionShown: true });
}

function series(table, place) {
  const points = table.series.map(([seconds, value]) => ({ at: new Date(seconds * 1000), value }));
  const [percent, words] = share(table.used_per_minute, table.minute_limit);
  const rows = points.map(({ at, value }) => [clock(at), figure(value)]);
  return h("section", { class: "card" },
    h("h2", {}, link(address.table(place, table.name), table.name)),
    h("p", {}, h("meter", { min: "0", max: "100", high: "80", optimum: "0", value: percent, "aria-label": "Share of the limit" }), ` Now ${words}`),
    ...(points.some(({ value }) => value > 0) ? [
      h("h3", {}, "Requests per minute"),
      bars(`Requests per minute of ${table.name}`, points, table.minute_limit),
      h("details", {}, h("summary", {}, "Figures"),
        listing(`Requests per minute of ${table.name}`, [{ title: "Time" }, { title: "Requests per minute", number: true }], rows)),
    ] : [h("p", { class: "quiet" }, "No requests in this period.")]));
}

function refusals(counted) {
  if (counted.length === 0) return null;
  return listing("Refusals by code, for all apps in this region", [{ title: "Code" }, { title: "Requests", number: true }],
    counted.map(([code, count]) => [h("code", {}, code), figure(count)]), { isCaptionShown: true });
}
