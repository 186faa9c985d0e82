// @ts-check
/** How a run is looked at: axis, stretch, smoothing, charts and how each is drawn. All of it stands in the address. Pure. */

/** @typedef {"log" | "whole" | "wide"} Mode how one chart is drawn: logarithmic, outliers in range, as wide as the page */
/** @typedef {Record<Mode, Set<string>>} Modes the metrics whose charts are drawn so */
/**
 * @typedef {{ axis: import("./curves.js").Axis, stretch: [number, number] | null, smoothing: number,
 *   modes: Modes, charts: string[], incident: string | null }} Look `stretch`: steps or Unix seconds; null: everything
 */

/** @type {Mode[]} */
const MODES = ["log", "whole", "wide"];
const PARAMETERS = ["axis", "from", "to", "smooth", "chart", ...MODES];

/** Does an address leave open how to look? Then it is up to what this browser remembers. @param {URLSearchParams} query */
export const hasNoViewOptions = (query) => PARAMETERS.every((word) => !query.has(word));

/** @param {URLSearchParams} query @returns {Look} */
export function readViewOptions(query) {
  const bounds = ["from", "to"].map((word) => (query.has(word) ? Number(query.get(word)) : NaN));
  const smoothing = Number(query.get("smooth") ?? 0);
  return {
    axis: query.get("axis") === "time" ? "time" : "step",
    stretch: bounds[1] > bounds[0] ? [bounds[0], bounds[1]] : null,
    smoothing: smoothing > 0 && smoothing < 1 ? smoothing : 0,
    modes: readModes(query),
    charts: query.getAll("chart"),
    incident: query.get("incident"),
  };
}

/** @param {URLSearchParams} query @returns {Modes} */
export function readModes(query) {
  const [log, whole, wide] = MODES.map((mode) => new Set(query.getAll(mode)));
  return { log, whole, wide };
}

/** The metrics drawn so once this one has changed. @param {Modes} modes @param {Mode} mode @param {string} metric @returns {string[]} */
export function toggleMetric(modes, mode, metric) {
  const now = modes[mode];
  return now.has(metric) ? [...now].filter((name) => name !== metric) : [...now, metric];
}
