/** The head of a page: breadcrumbs, title and actions. */

import { h, link } from "../html.js";

/** `trail` holds the breadcrumbs as `[text, address]`; `actions` holds buttons, with null for those not permitted. */
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

/** A button that runs `act`; further clicks have no effect until it has finished. */
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
