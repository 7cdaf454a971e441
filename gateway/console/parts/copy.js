/** A button that copies text to the clipboard, or selects it if the browser denies access. */

import { announce, h } from "../html.js";

const SHOWN_MS = 2000;

/** `shown` is the element with the text; `copied` is called after a copy. */
export function copyButton(label, shown, copied = () => {}) {
  const caption = h("span", {}, "Copy");
  const button = h("button", { type: "button", class: "copy", "aria-label": `Copy ${label}`, click: copy }, caption);

  async function copy() {
    try {
      await navigator.clipboard.writeText(shown.textContent);
      report("Copied", `Copied ${label}`);
    } catch {
      getSelection().selectAllChildren(shown);
      report("Selected", `Selected ${label}. Copy it with the keyboard.`);
    }
    copied();
  }

  function report(short, long) {
    caption.textContent = short;
    announce(long);
    setTimeout(() => { caption.textContent = "Copy"; }, SHOWN_MS);
  }
  return button;
}
