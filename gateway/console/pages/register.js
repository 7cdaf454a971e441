/** Dialog that registers an app. */

import { appPath, ask } from "../api.js";
import { field, integer, numberField, openForm } from "../parts/forms.js";
import { button } from "../parts/heading.js";
import { address } from "../routes.js";
import { may } from "../session.js";

export const TYPES = [["api", "api"], ["web-ssr", "web-ssr"], ["sse", "sse"]];

const NAME = { required: true, maxlength: "64", pattern: "[A-Za-z0-9][A-Za-z0-9._\\-]*", title: "Letters, digits, dots, underscores and hyphens" };

/** The button that opens the dialog, or null without permission. With `org` null the user types it. */
export function registerButton(org) {
  return may("apps", org) ? button("Register app", () => { register(org); }, "primary") : null;
}

function register(org) {
  openForm({
    title: "Register app",
    submit: "Register",
    fields: [
      field({ name: "org", label: "Organization", value: org ?? "", ...NAME }),
      field({ name: "app", label: "App", ...NAME }),
      field({ name: "env", label: "Environment", value: "production", ...NAME }),
      field({ name: "type", label: "Type", options: TYPES, value: "api" }),
      ...limitFields({}),
    ],
    send: async (given) => {
      const environment = { org: given.org, app: given.app, env: given.env };
      const body = { type: given.type, ...limitsIn(given) };
      await ask("PUT", appPath(environment), { body, headers: { "If-None-Match": "*" } });
      return environment;
    },
    done: (environment) => { location.hash = address.app(environment); },
  });
}

/** Fields for the limits of an app. */
export function limitFields({ requests_per_minute: requests = "", max_tables: tables = "", max_bytes: storage = "" }) {
  return [
    numberField({ name: "requests_per_minute", label: "Requests per minute", value: requests, hint: "For all tables together. Leave empty to use the region's default." }),
    numberField({ name: "max_tables", label: "Maximum number of tables", value: tables, min: "0", hint: "Leave empty to use the region's default." }),
    numberField({ name: "max_bytes", label: "Storage limit in bytes", value: storage ?? "", max: String(Number.MAX_SAFE_INTEGER), hint: "Keys and values of all entries. Leave empty to use the region's default." }),
  ];
}

/** The limits in the form's values, as the API takes them. */
export function limitsIn({ requests_per_minute: requests, max_tables: tables, max_bytes: storage }) {
  return { requests_per_minute: integer(requests), max_tables: integer(tables), max_bytes: integer(storage) };
}
