/** Bar charts over time, drawn as SVG, with the largest value and the limit in words. */

import { figure, h, svg } from "./html.js";

const WIDTH = 640;
const HEIGHT = 120;
const TOP = 2;
const GAP = 1;

/** Formats an instant for a chart or its table. */
export function clock(at) {
  return `${at.toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

/** `points` are `{at, value}` in order. `limit` becomes a dashed line if the values reach half of it. */
export function bars(title, points, limit = null) {
  const largest = Math.max(1, ...points.map(({ value }) => value));
  const isNear = limit !== null && largest >= limit / 2;
  const top = isNear ? Math.max(largest, limit) : largest;
  const height = (value) => ((HEIGHT - TOP) * value) / top;
  const width = WIDTH / Math.max(points.length, 1);
  const bar = ({ value }, index) =>
    svg("rect", { class: "bar-of-chart", x: index * width, y: HEIGHT - height(value), width: Math.max(width - GAP, GAP), height: height(value) });
  const label = `${title}: peak ${figure(largest)}${limit === null ? "" : `, limit ${figure(limit)}`}. The figures follow as a table.`;
  const highest = `${figure(Math.round(top))} per minute${isNear && limit >= largest ? ", the limit" : ""}`;
  return h("div", { class: "plot" },
    h("p", {}, highest),
    svg("svg", { class: "chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": label },
      ...points.map(bar),
      isNear ? svg("line", { class: "limit", x1: 0, x2: WIDTH, y1: HEIGHT - height(limit), y2: HEIGHT - height(limit) }) : "",
      svg("line", { class: "axis", x1: 0, x2: WIDTH, y1: HEIGHT, y2: HEIGHT })),
    h("p", { class: "ends" }, h("span", {}, clock(points[0].at)), h("span", {}, clock(points.at(-1).at))));
}

/** The used share of a limit: percent and words. */
export function share(used, limit) {
  const percent = limit > 0 ? Math.round((100 * used) / limit) : 0;
  const state = percent >= 100 ? "at the limit" : percent >= 80 ? "near the limit" : "below the limit";
  return [percent, `${percent} % of ${figure(limit)} requests per minute, ${state}`];
}
