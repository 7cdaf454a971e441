/** Page of an app environment: type, status, limits and tables. */

import { appPath, ask, tablePath } from "../api.js";
import { announce, bytes, figure, h, instant, link } from "../html.js";
import { button, heading } from "../parts/heading.js";
import { confirmByName, field, integer, numberField, openForm } from "../parts/forms.js";
import { badge, empty, facts, listing, suspension } from "../parts/listing.js";
import { showToken } from "../parts/token.js";
import { address } from "../routes.js";
import { may } from "../session.js";
import { sendUnlessChanged } from "../unchanged.js";
import { TYPES, limitFields, limitsIn } from "./register.js";

const SERVED = TYPES.map(([type]) => type);
const COLUMNS = [
  { title: "Table" }, { title: "Status" }, { title: "Requests per minute", number: true }, { title: "Token ends in" }, { title: "Updated" },
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
        ["Tables", `${tables.length} of ${figure(shown.max_tables)}`],
        ["Storage limit", shown.max_bytes === null ? "None" : bytes(shown.max_bytes)], ["Usage", link(address.usage(place), "Requests and bytes")],
      ]),
      databases(shown, tables, place, reload),
    ],
  };
}

/** Returns whether the app is declared in the configuration. Only tables in the store have a creation time. */
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
  const why = !isServed ? `Apps of type ${shown.type} can't have tables, because a token in a browser does not stay secret.`
    : isDeclared(tables) ? "This app is declared in the gateway's configuration and read-only here."
    : isFull && mayCreate ? `Table limit reached (${tables.length} of ${figure(shown.max_tables)}).` : null;
  const row = (table) => [
    link(address.table(place, table.name), table.name), badge(shown.status),
    figure(table.minute_limit), h("code", {}, table.token_last_four ?? "–"), instant(table.updated_at),
  ];
  return h("section", { "aria-labelledby": "databases" },
    h("div", { class: "line" }, h("div", {}, h("p", { class: "eyebrow" }, "Services"), h("h2", { id: "databases" }, "Databases")), create),
    why ? h("p", { class: "quiet" }, why) : null,
    tables.length ? listing(`Tables of ${shown.name}`, COLUMNS, tables.map(row))
      : empty("No tables yet", h("p", { class: "quiet" }, create ? "Create a table to get a token for this app." : "Tables of this app appear here.")));
}

function createTable(shown, place, reload) {
  openForm({
    title: "Create table",
    submit: "Create",
    fields: [
      field({ name: "name", label: "Name", required: true, maxlength: "32", pattern: "[A-Za-z0-9_]+", title: "Letters, digits and underscores",
        hint: "Letters, digits and underscores, at most 32. The token variable ends with this name in upper case." }),
      numberField({ name: "minute_limit", label: "Requests per minute", max: String(shown.requests_per_minute),
        hint: `Leave empty to use the app limit (${figure(shown.requests_per_minute)}).` }),
    ],
    send: ({ name, minute_limit: limit }) =>
      ask("POST", tablePath(place), { body: limit === "" ? { name } : { name, minute_limit: integer(limit) } }),
    done: (created) => showToken(created, "Save it in your app's environment now.", reload),
  });
}

function edit(shown, place, reload) {
  const types = SERVED.includes(shown.type) ? TYPES : [[shown.type, shown.type], ...TYPES];
  openForm({
    title: `Edit ${shown.name}`,
    submit: "Save",
    fields: [field({ name: "type", label: "Type", options: types, value: shown.type }), ...limitFields(shown)],
    send: sendUnlessChanged(appPath(place), shown, ["type", "requests_per_minute", "max_tables", "max_bytes"], (given) => ({ type: given.type, ...limitsIn(given) })),
    done: async () => { await reload(); announce("Saved"); },
  });
}

function suspend(shown, place, reload) {
  openForm({
    title: `Suspend ${shown.name}?`, submit: "Suspend", danger: true, fields: [],
    intro: "All requests will fail with 403 within 2 seconds, until you resume the app. Tables, tokens and entries are kept.",
    send: () => ask("POST", appPath(place, "/suspend")), done: reload,
  });
}

function resume(shown, place, reload) {
  openForm({
    title: `Resume ${shown.name}?`, submit: "Resume", fields: [], intro: "Requests will be served again with the same tokens.",
    send: () => ask("POST", appPath(place, "/resume")), done: reload,
  });
}

function remove(shown, tables, place) {
  confirmByName({
    title: `Remove ${shown.name}?`, name: shown.name, submit: "Remove",
    intro: `This permanently deletes the ${shown.env_id} environment of the app, ${tables.length === 1 ? "its table" : `all ${tables.length} tables`}, their tokens and every entry.`,
    send: () => ask("DELETE", appPath(place)),
    done: () => { location.hash = address.apps(place.org); },
  });
}
