/** Forms in dialogs. A failed request keeps the input, and a form cannot be submitted twice at the same time. */

import { h, newId } from "../html.js";
import { notice } from "../refusals.js";
import { openDialog } from "./dialog.js";

/** A labelled field. `options` makes it a select; `hint` is its description. */
export function field({ name, label, hint, type = "text", value = "", options, required = false, ...rest }) {
  const id = newId(name);
  const attributes = { id, name, required, "aria-describedby": hint ? `${id}-hint` : null, ...rest };
  const input = options
    ? h("select", attributes, ...options.map(([each, text]) => h("option", { value: each, selected: each === value }, text)))
    : h("input", { ...attributes, type, value, autocomplete: rest.autocomplete ?? "off", spellcheck: "false", autocapitalize: "none" });
  return h("div", { class: "field" },
    h("label", { for: id }, label, required || options ? null : h("span", { class: "quiet" }, " (optional)")),
    hint ? h("p", { class: "hint", id: `${id}-hint` }, hint) : null,
    input);
}

/** A field for a positive integer. */
export function numberField(given) {
  return field({ type: "number", min: "1", max: "1000000000", step: "1", inputmode: "numeric", ...given });
}

/** Radio buttons, each with an explanation. */
export function choice(name, legend, choices) {
  return h("fieldset", { class: "choice" }, h("legend", {}, legend), ...choices.map(({ value, label, hint, checked, extra }) => {
    const id = newId(name);
    return h("div", { class: "option" },
      h("input", { type: "radio", id, name, value, checked, "aria-describedby": `${id}-hint` }),
      h("div", {}, h("label", { for: id }, label), h("p", { class: "hint", id: `${id}-hint` }, hint), extra ?? null));
  }));
}

/** The integer in a field; null if it is empty. */
export function integer(text) {
  return text.trim() === "" ? null : Number(text);
}

/**
 * A form that calls `send` with its values, shows its errors, and passes its result to `done`.
 * A form that is being sent cannot be cancelled.
 */
export function form({ fields, submit, danger = false, cancel = null, send, done }) {
  const button = h("button", { type: "submit", class: danger ? "danger" : "primary" }, submit);
  const problems = h("div", {});
  let isSending = false;
  const element = h("form", { submit: sendOnce }, problems, ...fields,
    h("div", { class: "actions end" },
      cancel ? h("button", { type: "button", click: () => !isSending && cancel() }, "Cancel") : null, button));

  async function sendOnce(event) {
    event.preventDefault();
    if (isSending) return;
    isSending = true;
    button.setAttribute("aria-disabled", "true");
    button.classList.add("busy");
    problems.replaceChildren();
    let answer;
    try {
      answer = await send(Object.fromEntries(new FormData(element)));
    } catch (error) {
      const shown = notice(error);
      problems.replaceChildren(shown);
      shown.focus();
      return;
    } finally {
      isSending = false;
      button.removeAttribute("aria-disabled");
      button.classList.remove("busy");
    }
    await done(answer);
  }
  element.isSending = () => isSending;
  return element;
}

/** Opens a form in a dialog that closes after a successful submission. */
export function openForm({ title, intro = null, done = () => {}, ...rest }) {
  let dialog = null;
  const element = form({
    ...rest,
    cancel: () => dialog.close(),
    done: async (answer) => {
      dialog.close();
      await done(answer);
    },
  });
  dialog = openDialog({ title, content: [intro ? h("p", {}, intro) : null, element], mayClose: () => !element.isSending() });
  return dialog;
}

/** Asks the user to type a name before something is deleted. */
export function confirmByName({ title, intro, name, submit, send, done }) {
  const given = field({ name: "confirmation", label: `Type ${name} to confirm`, required: true, pattern: name.replace(/[.\-]/g, "\\$&"), title: name });
  return openForm({ title, intro, fields: [given], submit, danger: true, send, done });
}
