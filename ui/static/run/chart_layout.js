// @ts-check
/** The order and heights of a project's charts, stored in this browser. */

import * as prefs from "../lib/preferences.js";

/** @typedef {import("../charts/panel.js").ChartPlan} ChartPlan */
/**
 * `top`: metrics at the top, in this order; `order`: of the others on the page; `heights`: factors of the usual
 * height; `open`: sections opened or closed by the reader.
 * @typedef {{ top: string[], order: string[], heights: Record<string, number>, open: Record<string, boolean> }} Layout
 */

const HEIGHTS = [1, 1.5, 2.2, 3];
const EMPTY = { top: [], order: [], heights: {}, open: {} };

/** @param {string} project @returns {Layout} */
export function readLayout(project) {
  try {
    return { ...EMPTY, ...JSON.parse(prefs.get(`charts.${project}`, "{}")) };
  } catch {
    return { ...EMPTY };
  }
}

/** @param {string} project @param {Layout} layout */
export const storeLayout = (project, layout) => prefs.set(`charts.${project}`, JSON.stringify(layout));

/** Metrics in the reader's order: those at the top, those with a position, the others as they come. Pure. @param {Layout} layout @param {string[]} metrics */
export function inOrder({ top, order }, metrics) {
  const rank = (/** @type {string} */ metric) => {
    if (top.includes(metric)) return top.indexOf(metric) - top.length;
    return order.includes(metric) ? order.indexOf(metric) : order.length + metrics.indexOf(metric);
  };
  return [...metrics].sort((a, b) => rank(a) - rank(b));
}

/** A layout in which a metric has moved by some places among those shown. Pure. @param {Layout} layout @param {string[]} shown @param {string} metric @param {number} by @returns {Layout} */
export function moved(layout, shown, metric, by) {
  const list = [...shown];
  const from = list.indexOf(metric);
  const to = Math.max(0, Math.min(list.length - 1, from + by));
  list.splice(to, 0, ...list.splice(from, 1));
  return { ...layout, top: list.filter((each) => layout.top.includes(each)), order: list };
}

/** A layout in which a metric has the place of another, which moves on. Pure. @param {Layout} layout @param {string[]} shown @param {string} metric @param {string} onto @returns {Layout} */
export const movedOnto = (layout, shown, metric, onto) =>
  moved(layout, shown, metric, shown.indexOf(onto) - shown.indexOf(metric));

/** A layout in which a metric is at the top, or no longer. Pure. @param {Layout} layout @param {string} metric @returns {Layout} */
export function toggledTop(layout, metric) {
  const top = layout.top.includes(metric)
    ? layout.top.filter((each) => each !== metric)
    : [...layout.top, metric];
  return { ...layout, top };
}

/** A layout in which a chart has the next height. Pure. @param {Layout} layout @param {string} metric @param {1 | -1} by @returns {Layout} */
export function resized(layout, metric, by) {
  const i = HEIGHTS.indexOf(layout.heights[metric] ?? 1);
  const height = HEIGHTS[Math.max(0, Math.min(HEIGHTS.length - 1, i + by))];
  return { ...layout, heights: { ...layout.heights, [metric]: height } };
}
