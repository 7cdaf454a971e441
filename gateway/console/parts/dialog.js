/** Dialogs: modal, named by their title, closed with Escape; the focus goes back to where it was. */

import { h, newId } from "../html.js";

/** By dialog, whether it stays over another page. */
const open = new Map();

/**
 * Show a dialog. `mayClose` may keep it open; `closed` is called when it is gone, and it leaves nothing behind.
 * `staysOpen`: also over another page, as what it shows cannot be shown again.
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

/** Close what belongs to a page that is left. */
export function closeDialogs() {
  for (const [dialog, staysOpen] of [...open]) if (!staysOpen) dialog.close();
}

/** Whether one is open. */
export function isDialogOpen() {
  return open.size > 0;
}
