/** The dialog that shows a token, once. When it is closed nothing of the token is left in the page. */

import { h, newId } from "../html.js";
import { forms } from "../runtime.js";
import { copyButton } from "./copy.js";
import { openDialog } from "./dialog.js";

/** Show what `create` and `rotate` answer. `note` says what becomes of the token before; `closed` is called at the end. */
export function showToken({ table, token, runtime }, note, closed) {
  let isCopied = false;
  let isWarned = false;
  const copied = () => { isCopied = true; };
  const warning = h("p", { class: "notice warn", role: "alert", hidden: true },
    "The token has not been copied, and cannot be shown again. Close anyway?");
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
      h("p", { class: "notice warn" }, h("strong", {}, "Shown once. "), "Only its digest is stored. ", note),
      h("div", { class: "copyable" }, shown, copyButton("the token", shown, copied)),
      h("h3", {}, "Use it"),
      uses(forms(table, runtime), copied),
      warning,
      h("div", { class: "actions end" },
        h("button", { type: "button", class: "primary", click: () => mayClose() && dialog.close() }, "Close")),
    ],
  });
}

/** One form at a time, chosen by its title. */
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
    h("fieldset", { class: "segments" }, h("legend", { class: "unseen" }, "Form"), ...choices),
    h("div", { class: "copyable block" }, h("pre", { tabindex: "0", "aria-label": "Variables or call" }, code), copyButton("this form", code, copied)));
}
