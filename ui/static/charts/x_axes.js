// @ts-check
/** X axes other than steps and wall time: seconds since the first point, and metrics that only grow (tokens). Pure. */

import { interpolate, lowerBound } from "./curves.js";

/** @typedef {import("./curves.js").ChartCurve} ChartCurve */
/** @typedef {import("./curves.js").Axis} Axis */

/**
 * Positions on an axis: of a step of an attempt, of a time; the steps of a range; the first and last position.
 * @typedef {{ at: (step: number, attempt: number | undefined, time: number | null) => number,
 *   steps: (range: [number, number]) => { from: number | null, to: number | null }, extent: [number, number] | null }} AxisScale
 */

const PREFIX = "metric:";
const MARGIN = 0.01; // share of the axis left empty on both sides
const WORDS = ["tokens", "samples", "examples", "sequences", "epoch", "consumed", "flops", "elapsed", "wall", "relative_time"];

/** The axis of a metric. @param {string} metric @returns {Axis} */
export const metricAxis = (metric) => `metric:${metric}`;

/** The axis that a comparison of one run has computed, as the scale of tokens and samples. Throws an Error if it is not known. @param {import("../lib/api_types.js").CompareCurves} answer @returns {AxisScale} */
export function comparedScale({ runs, charts, x }) {
  const reason = runs[0]?.axis.reason;
  if (reason) throw new Error(`The ${x} of this run are not known: ${reason}`);
  const curve = charts.find((chart) => chart.curves.length > 0)?.curves[0];
  const segments = (curve?.segments ?? []).map(({ attempt, ghost, step, x: positions }) => ({
    attempt,
    ghost,
    step,
    value: positions,
    time: [],
    band: null,
  }));
  return metricScale(/** @type {any} */ ({ metric: x, segments }));
}

/** The metric of an axis; null on others. @param {Axis | string} axis */
export const metricOfAxis = (axis) => (axis.startsWith(PREFIX) ? axis.slice(PREFIX.length) : null);

/** The name of an axis in a sentence. @param {Axis} axis */
export function axisName(axis) {
  if (axis === "time") return "wall time";
  if (axis === "relative") return "relative time";
  return metricOfAxis(axis) ?? axis;
}

/** Metrics that can be an x axis: those whose name says that they count come first. @param {string[]} metrics */
export function axisMetrics(metrics) {
  return [...metrics].sort((a, b) => Number(isProgress(b)) - Number(isProgress(a)) || a.localeCompare(b));
}

/** Whether the name of a metric says that it counts tokens, samples or epochs. @param {string} metric */
export const isProgress = (metric) =>
  WORDS.some((word) => metric.toLowerCase().includes(word)) && !/per_|_per|\/s/.test(metric.toLowerCase());

/**
 * The axis of a metric, by its curve. Within an attempt values are interpolated between logged steps and
 * continued at the average rate beyond them. Throws an Error if the metric falls within an attempt.
 * @param {ChartCurve | undefined} curve @returns {AxisScale}
 */
export function metricScale(curve) {
  const lines = (curve?.segments ?? [])
    .filter((segment) => segment.step.length > 0)
    .map(({ attempt, ghost, step, value }) => ({ attempt, ghost, step, value }));
  for (const { value } of lines)
    if (value.some((each, i) => i > 0 && each < value[i - 1]))
      throw new Error(`${curve?.metric} falls, so it cannot be an x axis.`);
  const live = lines.filter((line) => !line.ghost);
  if (live.length === 0) throw new Error(`${curve?.metric ?? "The metric"} has no points.`);
  const steps = live.flatMap((line) => line.step);
  const values = live.flatMap((line) => line.value);
  return {
    at(step, attempt) {
      const own = lines.filter((line) => line.attempt === attempt);
      const line = own.find(({ step: list }) => list[0] <= step && step <= list[list.length - 1]) ?? own[own.length - 1];
      return extrapolated(line?.step ?? steps, line?.value ?? values, step);
    },
    steps: ([from, to]) => ({
      from: Math.floor(stepAt(steps, values, from)),
      to: Math.ceil(stepAt(steps, values, to)),
    }),
    extent: [Math.min(...live.map((line) => line.value[0])), Math.max(...live.map((line) => line.value[line.value.length - 1]))],
  };
}

/** `y` at `x`, continued with the average slope beyond the ends. @param {number[]} xs @param {number[]} ys @param {number} x */
function extrapolated(xs, ys, x) {
  const n = xs.length - 1;
  if (n < 1 || (x >= xs[0] && x <= xs[n])) return interpolate(xs, ys, x);
  const slope = (ys[n] - ys[0]) / (xs[n] - xs[0] || 1);
  return x < xs[0] ? Math.max(0, ys[0] - slope * (xs[0] - x)) : ys[n] + slope * (x - xs[n]);
}

/** The step at a value of a metric that only grows. @param {number[]} steps @param {number[]} values @param {number} value */
function stepAt(steps, values, value) {
  const i = lowerBound(values, value);
  if (i === 0) return steps[0];
  if (i >= values.length) return steps[steps.length - 1];
  const share = (value - values[i - 1]) / (values[i] - values[i - 1] || 1);
  return steps[i - 1] + share * (steps[i] - steps[i - 1]);
}

/**
 * Seconds since `start`.
 * @param {{ number: number, first_step: number, last_step: number, first_time?: number | null, last_time?: number | null }[]} attempts
 * @returns {AxisScale}
 */
export function relativeScale(attempts) {
  const timed = attempts.flatMap(({ number, first_step, last_step, first_time, last_time }) =>
    typeof first_time === "number" && typeof last_time === "number"
      ? [{ number, steps: [first_step, last_step], times: [first_time, last_time] }]
      : [],
  );
  const start = Math.min(...timed.map(({ times }) => times[0]));
  const end = Math.max(...timed.map(({ times }) => times[1]));
  return {
    at(step, attempt, time) {
      if (time !== null && Number.isFinite(time)) return time - start;
      const own = timed.find(({ number }) => number === attempt) ?? timed[timed.length - 1];
      return own ? interpolate(own.steps, own.times, step) - start : NaN;
    },
    steps: ([from, to]) => {
      const inside = timed.filter(({ times }) => times[1] - start >= from && times[0] - start <= to);
      if (inside.length === 0) return { from: null, to: null };
      const slack = Math.ceil(0.02 * (inside[inside.length - 1].steps[1] - inside[0].steps[0])) + 1; // steps are not evenly spaced in time
      const at = (/** @type {{ steps: number[], times: number[] }} */ { times, steps }, /** @type {number} */ x) =>
        interpolate(times, steps, x + start);
      return {
        from: Math.floor(Math.min(...inside.map((each) => at(each, from)))) - slack,
        to: Math.ceil(Math.max(...inside.map((each) => at(each, to)))) + slack,
      };
    },
    extent: timed.length ? [0, end - start] : null,
  };
}

/** The extent of an axis with a margin. @param {AxisScale} scale @returns {[number, number] | null} */
export function fullExtent({ extent }) {
  if (extent === null) return null;
  const margin = MARGIN * (extent[1] - extent[0]) || 0.5;
  return [extent[0] - margin, extent[1] + margin];
}

/** Set the x positions of curves. @param {ChartCurve[]} series @param {AxisScale} scale */
export function placeOnAxis(series, scale) {
  for (const { segments } of series)
    for (const segment of segments)
      segment.x = segment.step.map((step, i) => scale.at(step, segment.attempt, segment.time[i] ?? null));
}
