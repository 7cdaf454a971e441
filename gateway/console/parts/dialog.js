/** Modal dialogs, labelled by their title and closed with Escape. Closing returns the focus to its previous element. */

import { h, newId } from "../html.js";

/** Open dialogs, each with whether it survives a change of page. */
const open = new Map();

/**
 * Shows a dialog. `mayClose` can veto closing; `closed` runs after the dialog and its content left the document.
 * `staysOpen` keeps it open when the page changes, for content that cannot be shown again.
 */
export function openDialog({ title, content, mayClose = () => true, closed = () => {}, wide = false, staysOpen = false }) {
  const id = newId("title");
  const before = document.activeElement;
  const dialog = h("dialog", { "aria-labelledby": id, class: wide ? "wide" : null },
    h("h2", { id, tabindex: "-1" }, title), ...content);
  dialog.addEventListener("cancel", (event) => {
    if (!mayClose()) event.preventDefault();
  });
  dialog.addEventListener("close", () => {
    open.delete(dialog);
    dialog.replaceChildren();
    dialog.remove();
    closed();
    if (before?.isConnected) before.focus();
    else document.querySelector("#main h1")?.focus();
  });
  document.body.append(dialog);
  open.set(dialog, staysOpen);
  dialog.showModal();
  (dialog.querySelector("input, select") ?? dialog.querySelector("h2")).focus();
  return dialog;
}

/** Closes all dialogs but those that stay open. */
export function closeDialogs() {
  for (const [dialog, staysOpen] of [...open]) if (!staysOpen) dialog.close();
}

/** Returns whether a dialog is open. */
export function isDialogOpen() {
  return open.size > 0;
}
