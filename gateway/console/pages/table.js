/** Page of a table: its limit, its token and the variables that an app needs. */

import { appPath, ask, tablePath } from "../api.js";
import { announce, figure, h, instant } from "../html.js";
import { copyButton } from "../parts/copy.js";
import { choice, confirmByName, integer, numberField, openForm } from "../parts/forms.js";
import { button, heading } from "../parts/heading.js";
import { facts, suspension } from "../parts/listing.js";
import { showToken } from "../parts/token.js";
import { address } from "../routes.js";
import { may } from "../session.js";
import { sendUnlessChanged } from "../unchanged.js";

const MINUTE_SECONDS = 60;

export async function table(place, { signal, reload }) {
  const [shown, app] = await Promise.all([
    ask("GET", tablePath(place, place.table), { signal }), ask("GET", appPath(place), { signal }),
  ]);
  const trail = [
    ["Organizations", address.organizations()], [place.org, address.apps(place.org)], [`${place.app} (${place.env})`, address.app(place)],
  ];
  const isDeclared = shown.created_at === null;
  const mayChange = may("tables", place.org, place.app) && !isDeclared;
  const variable = h("code", {}, shown.env_var_name);
  const base = h("code", {}, shown.kvs_url);
  return {
    title: `Table ${shown.name}`,
    state: JSON.stringify([shown, app]),
    content: [
      heading(trail, shown.name, {
        eyebrow: "Services · Databases",
        actions: mayChange ? [
          button("Rotate token", () => { rotate(shown, place, reload); }, "primary"),
          button("Change limit", () => { changeLimit(shown, app, place, reload); }),
          button("Delete", () => { remove(shown, place); }, "danger quiet"),
        ] : [],
      }),
      suspension(app, [shown]),
      isDeclared ? h("p", { class: "notice" }, "This table is declared in the gateway's configuration and read-only here.") : null,
      facts([
        ["Requests per minute", figure(shown.minute_limit)],
        ["Token", shown.token_last_four ? h("code", {}, `…${shown.token_last_four}`) : "from the configuration"],
        ["Token variable", h("span", { class: "copyable" }, variable, copyButton("variable name", variable))],
        ["Base URL", h("span", { class: "copyable" }, base, copyButton("base URL", base))],
        ["Created", instant(shown.created_at)], ["Updated", instant(shown.updated_at)],
      ]),
    ],
  };
}

function rotate(shown, place, reload) {
  const minutes = numberField({ name: "overlap_minutes", label: "Minutes", value: "60", required: true, max: "525600" });
  openForm({
    title: `Rotate the token of ${shown.name}`,
    submit: "Rotate",
    intro: "Creates a new token, which is shown once. Entries are not affected.",
    fields: [choice("when", "Current token", [
      { value: "overlap", label: "Keep valid during an overlap", checked: true, extra: minutes,
        hint: "No downtime if you deploy the new token before the overlap ends. After that the old token is refused." },
      { value: "immediately", label: "Revoke immediately",
        hint: "Use this after a leak. All valid tokens of this table stop working within 2 seconds, and requests fail until the app has the new token." },
    ])],
    send: async ({ when, overlap_minutes: given }) => {
      const overlap = when === "overlap" ? integer(given) : 0;
      const body = { overlap_seconds: overlap * MINUTE_SECONDS };
      return { overlap, rotated: await ask("POST", tablePath(place, shown.name, "/rotate"), { body }) };
    },
    done: ({ overlap, rotated }) => showToken(rotated, fateOfPrevious(overlap), reload),
  });
}

/** The sentence about the previous token. */
function fateOfPrevious(overlap) {
  return overlap === 0 ? "All previous tokens are revoked. Save it in your app's environment now."
    : `The previous token stays valid for ${figure(overlap)} minute${overlap === 1 ? "" : "s"}. Deploy this one before then.`;
}

function changeLimit(shown, app, place, reload) {
  openForm({
    title: `Limit of ${shown.name}`,
    submit: "Save",
    fields: [numberField({ name: "minute_limit", label: "Requests per minute", value: shown.minute_limit,
      max: String(app.requests_per_minute),
      hint: `Leave empty to use the app limit (${figure(app.requests_per_minute)}), which is also the maximum. Requests beyond the limit fail with 429 until the next minute.` })],
    send: sendUnlessChanged(tablePath(place, shown.name), shown, ["minute_limit"], (given) => ({ minute_limit: integer(given.minute_limit) })),
    done: async () => { await reload(); announce("Saved"); },
  });
}

function remove(shown, place) {
  confirmByName({
    title: `Delete ${shown.name}?`, name: shown.name, submit: "Delete",
    intro: "This permanently deletes the table, its tokens and all its entries. A new table with the same name starts empty.",
    send: () => ask("DELETE", tablePath(place, shown.name)),
    done: () => { location.hash = address.app(place); },
  });
}
