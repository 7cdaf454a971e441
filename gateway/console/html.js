/** Builds elements. Text becomes text nodes only, so a name that contains markup cannot inject elements. */

const SVG = "http://www.w3.org/2000/svg";

/** An HTML element. A function as an attribute becomes the listener of that event; false and null omit the attribute. */
export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** An SVG element, built like `h`. */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== false));
  return element;
}

/** A link within the console. */
export function link(address, ...children) {
  return h("a", { href: address }, ...children);
}

let identifiers = 0;

/** A unique element id. */
export function newId(prefix) {
  identifiers += 1;
  return `${prefix}-${identifiers}`;
}

/** Announces a text to screen readers. */
export function announce(text) {
  document.getElementById("announcements").textContent = text;
}

const NUMBER = new Intl.NumberFormat("en");
const INSTANT = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short", timeZone: "UTC" });

/** A number with separators between thousands. */
export function figure(number) {
  return NUMBER.format(number);
}

/** An instant in UTC, or a dash. */
export function instant(text) {
  return text ? h("time", { datetime: text }, `${INSTANT.format(new Date(text))} UTC`) : "–";
}

/** Bytes in the largest unit that leaves at least 1. */
export function bytes(count) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  let size = count;
  for (; size >= 1024 && unit < units.length - 1; unit += 1) size /= 1024;
  return `${unit === 0 ? figure(size) : size.toFixed(1)} ${units[unit]}`;
}
