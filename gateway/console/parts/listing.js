/** Tables of rows, and the links between the pages of a list. */

import { h, newId } from "../html.js";

/** A table with a caption; `columns` are `{title, number}`. It scrolls by itself where the screen is narrow. */
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

/** A field that searches by the beginning of a name. `found` is called with what was typed. */
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

/** What stands where there is nothing to list. */
export function empty(title, ...rest) {
  return h("div", { class: "empty" }, h("p", {}, h("strong", {}, title)), ...rest);
}

/** Terms with what they stand for. */
export function facts(entries) {
  return h("dl", { class: "facts" }, ...entries.map(([term, ...value]) => h("div", {}, h("dt", {}, term), h("dd", {}, ...value))));
}

/** What an app is told about that has tables and serves none of them; null of another. */
export function suspension(app, tables) {
  return app.status === "active" || tables.length === 0 ? null
    : h("p", { class: "notice warn" }, "The app is suspended: calls are refused (403) until it is resumed.");
}

/** A state in a word, with a mark that does not need colour. */
export function badge(state) {
  const isGood = ["active", "up", "ready"].includes(state);
  return h("span", { class: `badge ${isGood ? "good" : "idle"}` }, h("span", { "aria-hidden": "true" }, isGood ? "●" : "○"), ` ${state}`);
}
