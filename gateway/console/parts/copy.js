/** A button that copies a text. Where the browser does not let it, the text is selected instead. */

import { announce, h } from "../html.js";

const SHOWN_MS = 2000;

/** `shown` is the element with the text; `copied` is called when it was copied. */
export function copyButton(label, shown, copied = () => {}) {
  const caption = h("span", {}, "Copy");
  const button = h("button", { type: "button", class: "copy", "aria-label": `Copy ${label}`, click: copy }, caption);

  async function copy() {
    try {
      await navigator.clipboard.writeText(shown.textContent);
      tell("Copied", `${label} copied`);
    } catch {
      getSelection().selectAllChildren(shown);
      tell("Selected", `${label} selected; copy it with the keyboard`);
    }
    copied();
  }

  function tell(short, long) {
    caption.textContent = short;
    announce(long);
    setTimeout(() => { caption.textContent = "Copy"; }, SHOWN_MS);
  }
  return button;
}
