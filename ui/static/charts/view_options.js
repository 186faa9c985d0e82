// @ts-check
/** View options of a run's charts: axis, range, smoothing, added charts and their modes, read from the address. Pure. */

/** @typedef {"log" | "whole" | "wide"} Mode of one chart: logarithmic y axis, outliers included, full width */
/** @typedef {Record<Mode, Set<string>>} Modes the metrics of the charts in each mode */
/**
 * @typedef {{ axis: import("./curves.js").Axis, range: [number, number] | null, smoothing: number,
 *   modes: Modes, charts: string[], incident: string | null, pins: string[], find: string, xLog: boolean }} ViewOptions
 *   `range`: steps, Unix seconds or values of the axis, null: everything; `pins`: what `pinKey` returns; `find`:
 *   words by which charts are found
 */

/** @type {Mode[]} */
const MODES = ["log", "whole", "wide"];
const PARAMETERS = ["axis", "from", "to", "smooth", "chart", "pin", "find", "xlog", ...MODES];
const NAMED_AXES = ["time", "relative", "tokens", "samples"];

/** Whether an address has no view options; the page then uses the preferences of this browser. @param {URLSearchParams} query */
export const hasNoViewOptions = (query) => PARAMETERS.every((word) => !query.has(word));

/** @param {URLSearchParams} query @returns {ViewOptions} */
export function readViewOptions(query) {
  const bounds = ["from", "to"].map((word) => (query.has(word) ? Number(query.get(word)) : NaN));
  const smoothing = Number(query.get("smooth") ?? 0);
  return {
    axis: readAxis(query.get("axis") ?? "step"),
    range: bounds[1] > bounds[0] ? [bounds[0], bounds[1]] : null,
    smoothing: smoothing > 0 && smoothing < 1 ? smoothing : 0,
    modes: readModes(query),
    charts: query.getAll("chart"),
    incident: query.get("incident"),
    pins: query.getAll("pin"),
    find: query.get("find") ?? "",
    xLog: query.get("xlog") === "1",
  };
}

/** @param {string} text @returns {import("./curves.js").Axis} */
function readAxis(text) {
  const known = NAMED_AXES.includes(text) || text.startsWith("metric:");
  return known ? /** @type {import("./curves.js").Axis} */ (text) : "step";
}

/** @param {URLSearchParams} query @returns {Modes} */
export function readModes(query) {
  const [log, whole, wide] = MODES.map((mode) => new Set(query.getAll(mode)));
  return { log, whole, wide };
}

/** The metrics in a mode after it is toggled for one. @param {Modes} modes @param {Mode} mode @param {string} metric @returns {string[]} */
export function toggleMetric(modes, mode, metric) {
  const metrics = modes[mode];
  return metrics.has(metric) ? [...metrics].filter((name) => name !== metric) : [...metrics, metric];
}
