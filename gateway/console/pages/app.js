/** An app environment: type, status and limits, and under Services its databases: the tables. */

import { appPath, ask, tablePath } from "../api.js";
import { announce, figure, h, instant, link } from "../html.js";
import { button, heading } from "../parts/heading.js";
import { confirmByName, field, integer, numberField, openForm } from "../parts/forms.js";
import { badge, empty, facts, listing, suspension } from "../parts/listing.js";
import { showToken } from "../parts/token.js";
import { address } from "../routes.js";
import { may } from "../session.js";
import { sendUnlessChanged } from "../unchanged.js";
import { TYPES, limitFields } from "./register.js";

const SERVED = TYPES.map(([type]) => type);
const COLUMNS = [
  { title: "Table" }, { title: "Status" }, { title: "Requests per minute", number: true }, { title: "Token ends in" }, { title: "Changed" },
];

export async function app(place, { signal, reload }) {
  const [shown, tables] = await Promise.all([
    ask("GET", appPath(place), { signal }), ask("GET", tablePath(place), { signal }),
  ]);
  return {
    title: `${shown.name} (${shown.env_id})`,
    state: JSON.stringify([shown, tables]),
    content: [
      heading([["Organizations", address.organizations()], [place.org, address.apps(place.org)]], shown.name, {
        eyebrow: `App · ${shown.env_id}`, beside: badge(shown.status), actions: actionsOf(shown, tables, place, reload),
      }),
      suspension(shown, tables),
      facts([
        ["Type", shown.type], ["Requests per minute", figure(shown.requests_per_minute)],
        ["Tables", `${tables.length} of at most ${figure(shown.max_tables)}`], ["Usage", link(address.usage(place), "Requests and bytes")],
      ]),
      databases(shown, tables, place, reload),
    ],
  };
}

/** Whether the app stands in the configuration, as far as its tables tell: those of the store have an instant. */
export function isDeclared(tables) {
  return tables.some((table) => table.created_at === null);
}

function actionsOf(shown, tables, place, reload) {
  if (!may("apps", place.org, place.app) || isDeclared(tables)) return [];
  const toggle = shown.status === "active"
    ? button("Suspend", () => { suspend(shown, place, reload); })
    : tables.length > 0 ? button("Resume", () => { resume(shown, place, reload); }) : null;
  return [button("Edit", () => { edit(shown, place, reload); }), toggle, button("Remove", () => { remove(shown, tables, place); }, "danger quiet")];
}

function databases(shown, tables, place, reload) {
  const mayCreate = may("tables", place.org, place.app) && !isDeclared(tables);
  const isServed = SERVED.includes(shown.type);
  const isFull = tables.length >= shown.max_tables;
  const create = mayCreate && isServed && !isFull ? button("Create table", () => { createTable(shown, place, reload); }, "primary") : null;
  const why = !isServed ? `Apps of type ${shown.type} cannot have tables: tokens delivered to a browser would not stay secret.`
    : isDeclared(tables) ? "Declared in the gateway's configuration: read-only here."
    : isFull && mayCreate ? "The app has as many tables as it may have." : null;
  const row = (table) => [
    link(address.table(place, table.name), table.name), badge(shown.status),
    figure(table.minute_limit), h("code", {}, table.token_last_four ?? "–"), instant(table.updated_at),
  ];
  return h("section", { "aria-labelledby": "databases" },
    h("div", { class: "line" }, h("div", {}, h("p", { class: "eyebrow" }, "Services"), h("h2", { id: "databases" }, "Databases")), create),
    why ? h("p", { class: "quiet" }, why) : null,
    tables.length ? listing(`Tables of ${shown.name}`, COLUMNS, tables.map(row))
      : empty("No tables yet.", h("p", { class: "quiet" }, "The first table activates the service for this app.")));
}

function createTable(shown, place, reload) {
  openForm({
    title: "Create table",
    submit: "Create",
    fields: [
      field({ name: "name", label: "Name", required: true, maxlength: "32", pattern: "[A-Za-z0-9_]+", title: "Letters, digits and underscores",
        hint: "1 to 32 letters, digits and underscores. In capitals it ends the name of the token's variable." }),
      numberField({ name: "minute_limit", label: "Requests per minute", max: String(shown.requests_per_minute),
        hint: `Of this table. Empty: the app's ${figure(shown.requests_per_minute)} alone.` }),
    ],
    send: ({ name, minute_limit: limit }) =>
      ask("POST", tablePath(place), { body: limit === "" ? { name } : { name, minute_limit: integer(limit) } }),
    done: (created) => showToken(created, "Store it now where the app reads its runtime variables.", reload),
  });
}

function edit(shown, place, reload) {
  const types = SERVED.includes(shown.type) ? TYPES : [[shown.type, shown.type], ...TYPES];
  openForm({
    title: `Edit ${shown.name}`,
    submit: "Save",
    fields: [field({ name: "type", label: "Type", options: types, value: shown.type }), ...limitFields(shown)],
    send: sendUnlessChanged(appPath(place), shown, ["type", "requests_per_minute", "max_tables"], (given) => ({
      type: given.type, requests_per_minute: integer(given.requests_per_minute), max_tables: integer(given.max_tables),
    })),
    done: async () => { await reload(); announce("Saved"); },
  });
}

function suspend(shown, place, reload) {
  openForm({
    title: `Suspend ${shown.name}?`, submit: "Suspend", danger: true, fields: [],
    intro: "Its calls are refused on every replica within 2 s (403) until it is resumed. Tables, tokens and entries stay.",
    send: () => ask("POST", appPath(place, "/suspend")), done: reload,
  });
}

function resume(shown, place, reload) {
  openForm({
    title: `Resume ${shown.name}?`, submit: "Resume", fields: [], intro: "Its calls are served again, with the same tokens.",
    send: () => ask("POST", appPath(place, "/resume")), done: reload,
  });
}

function remove(shown, tables, place) {
  confirmByName({
    title: `Remove ${shown.name}?`, name: shown.name, submit: "Remove",
    intro: `The app environment ${shown.env_id}, its ${tables.length === 1 ? "table" : `${tables.length} tables`}, their tokens and every entry are gone at once, for good.`,
    send: () => ask("DELETE", appPath(place)),
    done: () => { location.hash = address.apps(place.org); },
  });
}
