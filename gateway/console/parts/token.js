/** The dialog that shows a new token once. Closing it removes the token from the document. */

import { h, newId } from "../html.js";
import { forms } from "../runtime.js";
import { copyButton } from "./copy.js";
import { openDialog } from "./dialog.js";

/** Shows the response of `create` or `rotate`. `note` says what to do; `closed` runs after the dialog. */
export function showToken({ table, token, runtime }, note, closed) {
  let isCopied = false;
  let isWarned = false;
  const copied = () => { isCopied = true; };
  const warning = h("p", { class: "notice warn", role: "alert", hidden: true },
    "You haven't copied the token, and it won't be shown again. Close anyway?");
  const mayClose = () => {
    if (isCopied || isWarned) return true;
    isWarned = true;
    warning.hidden = false;
    return false;
  };
  const shown = h("code", { class: "secret", copy: copied }, token);
  const dialog = openDialog({
    title: `Token of ${table.name}`, wide: true, staysOpen: true, mayClose, closed,
    content: [
      h("p", { class: "notice warn" }, h("strong", {}, "You won't see this token again. "), note),
      h("div", { class: "copyable" }, shown, copyButton("token", shown, copied)),
      h("h3", {}, "Use it"),
      uses(forms(table, runtime), copied),
      warning,
      h("div", { class: "actions end" },
        h("button", { type: "button", class: "primary", click: () => mayClose() && dialog.close() }, "Close")),
    ],
  });
}

/** Ways to use the token, one at a time. */
function uses(texts, copied) {
  const name = newId("form");
  const code = h("code", {});
  const choices = Object.entries(texts).map(([title, text], index) => {
    const id = newId("form");
    const show = async () => { code.textContent = await text; };
    if (index === 0) show();
    return [h("input", { type: "radio", name, id, checked: index === 0, change: show }), h("label", { for: id }, title)];
  });
  return h("div", {},
    h("fieldset", { class: "segments" }, h("legend", { class: "unseen" }, "Format"), ...choices),
    h("div", { class: "copyable block" }, h("pre", { tabindex: "0", "aria-label": "Variables or sample code" }, code), copyButton("snippet", code, copied)));
}
