/** A table: its limit, its variable, and what can be done with its token. */

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
      isDeclared ? h("p", { class: "notice" }, "Declared in the gateway's configuration: read-only here.") : null,
      facts([
        ["Requests per minute", figure(shown.minute_limit)],
        ["Token", shown.token_last_four ? h("code", {}, `…${shown.token_last_four}`) : "from the configuration"],
        ["Token variable", h("span", { class: "copyable" }, variable, copyButton("the variable's name", variable))],
        ["Base address", h("span", { class: "copyable" }, base, copyButton("the base address", base))],
        ["Created", instant(shown.created_at)], ["Changed", instant(shown.updated_at)],
      ]),
    ],
  };
}

function rotate(shown, place, reload) {
  const minutes = numberField({ name: "overlap_minutes", label: "Minutes", value: "60", required: true, max: "525600" });
  openForm({
    title: `Rotate the token of ${shown.name}`,
    submit: "Rotate",
    intro: "A new token is made and shown once. Entries stay as they are.",
    fields: [choice("when", "The current token", [
      { value: "overlap", label: "Stays valid for a while", checked: true, extra: minutes,
        hint: "No downtime: put the new token where the app reads it, and deploy, before the time is over. Then the old one is refused." },
      { value: "at-once", label: "Is refused at once",
        hint: "For a token that leaked: every valid token of this table ends within 2 s. Calls fail until the app has the new one." },
    ])],
    send: async ({ when, overlap_minutes: given }) => {
      const overlap = when === "overlap" ? integer(given) : 0;
      const body = { overlap_seconds: overlap * MINUTE_SECONDS };
      return { overlap, rotated: await ask("POST", tablePath(place, shown.name, "/rotate"), { body }) };
    },
    done: ({ overlap, rotated }) => showToken(rotated, becomes(overlap), reload),
  });
}

/** What becomes of the token before. */
function becomes(overlap) {
  return overlap === 0 ? "Every previous token is refused now: give the app this one."
    : `The previous token stays valid for ${figure(overlap)} minute${overlap === 1 ? "" : "s"}: give the app this one before.`;
}

function changeLimit(shown, app, place, reload) {
  openForm({
    title: `Limit of ${shown.name}`,
    submit: "Save",
    fields: [numberField({ name: "minute_limit", label: "Requests per minute", value: shown.minute_limit,
      max: String(app.requests_per_minute),
      hint: `Calls beyond it are refused with 429 until the next minute. At most the app's ${figure(app.requests_per_minute)}. Empty: the app's alone.` })],
    send: sendUnlessChanged(tablePath(place, shown.name), shown, ["minute_limit"], (given) => ({ minute_limit: integer(given.minute_limit) })),
    done: async () => { await reload(); announce("Saved"); },
  });
}

function remove(shown, place) {
  confirmByName({
    title: `Delete ${shown.name}?`, name: shown.name, submit: "Delete",
    intro: "Its token is refused and its entries are unreachable at once, for good. A table that is created again under this name is empty.",
    send: () => ask("DELETE", tablePath(place, shown.name)),
    done: () => { location.hash = address.app(place); },
  });
}
