/** Tables of rows, and links between the pages of a list. */

import { h, newId } from "../html.js";

/** A captioned table; `columns` are `{title, number}`. On narrow screens it scrolls by itself. */
export function listing(caption, columns, rows, { isCaptionShown = false } = {}) {
  const id = newId("caption");
  const head = columns.map(({ title, number }) => h("th", { scope: "col", class: number ? "number" : null }, title));
  const cell = (content, index) =>
    index === 0
      ? h("th", { scope: "row" }, content)
      : h("td", { class: columns[index].number ? "number" : null }, content);
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-labelledby": id },
    h("table", {},
      h("caption", { id, class: isCaptionShown ? null : "unseen" }, caption),
      h("thead", {}, h("tr", {}, ...head)),
      h("tbody", {}, ...rows.map((row) => h("tr", {}, ...row.map(cell))))));
}

/** Links to the first and the next page. */
export function pager({ first, next }) {
  if (!first && !next) return null;
  return h("nav", { class: "pager", "aria-label": "Pages" },
    first ? h("a", { class: "button", href: first }, "First page") : null,
    next ? h("a", { class: "button", href: next, rel: "next" }, "Next page") : null);
}

/** A search field for a name prefix. `found` is called with the prefix. */
export function search(label, value, found) {
  const id = newId("search");
  const send = (event) => {
    event.preventDefault();
    found(new FormData(event.target).get("search").trim());
  };
  return h("form", { class: "search", role: "search", submit: send },
    h("label", { for: id }, label),
    h("input", { id, name: "search", type: "search", value, maxlength: "64", autocomplete: "off", spellcheck: "false", autocapitalize: "none" }),
    h("button", { type: "submit" }, "Search"));
}

/** The placeholder of an empty list. */
export function empty(title, ...rest) {
  return h("div", { class: "empty" }, h("p", {}, h("strong", {}, title)), ...rest);
}

/** A description list. */
export function facts(entries) {
  return h("dl", { class: "facts" }, ...entries.map(([term, ...value]) => h("div", {}, h("dt", {}, term), h("dd", {}, ...value))));
}

/** The warning about a suspended app: inactive although it has tables; null for other apps. */
export function suspension(app, tables) {
  return app.status === "active" || tables.length === 0 ? null
    : h("p", { class: "notice warn" }, "This app is suspended. All requests fail with 403 until it is resumed.");
}

/** A state as a word with a symbol, so that it does not depend on colour. */
export function badge(state) {
  const isGood = ["active", "up", "ready"].includes(state);
  return h("span", { class: `badge ${isGood ? "good" : "idle"}` }, h("span", { "aria-hidden": "true" }, isGood ? "●" : "○"), ` ${state}`);
}
