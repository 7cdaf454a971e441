/** The head of a page: where it is, its title, and what can be done there. */

import { h, link } from "../html.js";

/** `trail` are `[text, address]` of the places above; `actions` buttons, null for those that are not allowed. */
export function heading(trail, title, { eyebrow = null, actions = [], beside = null } = {}) {
  const given = actions.filter(Boolean);
  return h("header", { class: "heading" },
    trail.length
      ? h("nav", { "aria-label": "Breadcrumb" }, h("ol", { class: "trail" }, ...trail.map(([text, address]) => h("li", {}, link(address, text)))))
      : null,
    h("div", { class: "line" },
      h("div", {}, eyebrow ? h("p", { class: "eyebrow" }, eyebrow) : null,
        h("div", { class: "title" }, h("h1", { tabindex: "-1" }, title), beside)),
      given.length ? h("div", { class: "actions" }, ...given) : null));
}

/** A button that opens or does something; a second click while it works does nothing. */
export function button(text, act, kind = null) {
  let isWorking = false;
  const element = h("button", { type: "button", class: kind, click: once }, text);

  async function once() {
    if (isWorking) return;
    isWorking = true;
    element.classList.add("busy");
    try {
      await act();
    } finally {
      isWorking = false;
      element.classList.remove("busy");
    }
  }
  return element;
}
