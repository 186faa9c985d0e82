// @ts-check
/** Summary of many series on one chart: median, band, extremes, and which series are unusual. Pure. */

import { axisPositions, bandPositions, lowerBound } from "./curves.js";

/** @typedef {import("./curves.js").ChartCurve} ChartCurve */
/** @typedef {import("./curves.js").Axis} Axis */
/**
 * @typedef {{ x: number[], low: number[], median: number[], high: number[], ranges: Map<ChartCurve, Range>,
 *   unusual: ChartCurve[] }} Summary `low`, `high`: 10th and 90th percentile of the series at x; `ranges`: the lowest
 *   and highest values of each series at x; `unusual`: series far from the others, the farthest first
 * @typedef {{ low: number[], high: number[] }} Range
 */

const COLUMNS = 160;
const MAX_UNUSUAL = 5;
const FAR = 6; // times the usual distance from the median
const SUSTAINED = 0.9; // quantile of a series' distances that must be far: a tenth of its columns

/** @type {WeakMap<ChartCurve[], { axis: Axis, summary: Summary }>} */
const known = new WeakMap();

/** The summary of some series; computed once for the same list. @param {ChartCurve[]} series @param {Axis} axis @returns {Summary} */
export function summarise(series, axis) {
  const before = known.get(series);
  if (before?.axis === axis) return before.summary;
  const summary = compute(series, axis);
  known.set(series, { axis, summary });
  return summary;
}

/** @param {ChartCurve[]} series @param {Axis} axis @returns {Summary} */
function compute(series, axis) {
  const lines = series.map((curve) => lineOfCurve(curve, axis));
  const filledLines = lines.filter((line) => line.x.length > 0);
  const low = Math.min(...filledLines.map((line) => line.x[0]));
  const high = Math.max(...filledLines.map((line) => line.x[line.x.length - 1]));
  if (!(high >= low)) return { x: [], low: [], median: [], high: [], ranges: new Map(), unusual: [] };
  const longest = Math.max(...filledLines.map((line) => line.x.length));
  const columns = high > low ? Math.max(2, Math.min(COLUMNS, longest)) : 1;
  const grid = Array.from({ length: columns }, (_, i) => low + ((high - low) * i) / Math.max(1, columns - 1));
  const sampled = lines.map((line) => grid.map((x) => sample(line, x)));
  const sideOf = (/** @type {ReturnType<typeof lineOfCurve>} */ line, /** @type {"low" | "high"} */ side) =>
    grid.map((x) => sample({ x: line.x, y: line[side] }, x));
  /** @type {Map<ChartCurve, Range>} */
  const ranges = new Map(
    series.map((curve, i) => [curve, { low: sideOf(lines[i], "low"), high: sideOf(lines[i], "high") }]),
  );
  const sorted = grid.map((_, k) =>
    Float64Array.from(sampled.map((values) => values[k]).filter(Number.isFinite)).sort(),
  );
  const at = (/** @type {number} */ share) => sorted.map((values) => quantile(values, share));
  const median = at(0.5);
  return {
    x: grid,
    low: at(0.1),
    median,
    high: at(0.9),
    ranges,
    unusual: unusualSeries(series, sampled, median),
  };
}

/** The lowest and highest values of some of the summarised series at each x; infinite where they have none. @param {Summary} summary @param {ChartCurve[]} curves @returns {Range} */
export function extremesOf({ x, ranges }, curves) {
  const low = x.map(() => Infinity);
  const high = x.map(() => -Infinity);
  for (const curve of curves) {
    const range = ranges.get(curve);
    if (!range) continue;
    for (let k = 0; k < x.length; k++) {
      if (range.low[k] < low[k]) low[k] = range.low[k]; // false for NaN
      if (range.high[k] > high[k]) high[k] = range.high[k];
    }
  }
  return { low, high };
}

/** The line of a curve without superseded branches. @param {ChartCurve} curve @param {Axis} axis */
function lineOfCurve(curve, axis) {
  const live = curve.segments.filter((segment) => !segment.ghost && segment.step.length > 0);
  const parts = live.map((segment) =>
    segment.band && segment.band.step.length > 1
      ? { x: bandPositions(segment, axis), y: segment.band.mean, low: segment.band.minimum, high: segment.band.maximum }
      : { x: axisPositions(segment, axis), y: segment.value, low: segment.value, high: segment.value },
  );
  const joined = (/** @type {"x" | "y" | "low" | "high"} */ name) => parts.flatMap((part) => part[name]);
  return { x: joined("x"), y: joined("y"), low: joined("low"), high: joined("high") };
}

/** The value of a line at x by interpolation; NaN outside. @param {{ x: number[], y: number[] }} line @param {number} x */
export function sample({ x: xs, y }, x) {
  const n = xs.length;
  if (n === 0 || x < xs[0] || x > xs[n - 1]) return NaN;
  const i = lowerBound(xs, x);
  if (i === 0 || xs[i] === x) return y[i];
  const share = (x - xs[i - 1]) / (xs[i] - xs[i - 1]);
  return y[i - 1] + share * (y[i] - y[i - 1]);
}

/** @param {Float64Array} sorted @param {number} share */
function quantile(sorted, share) {
  if (sorted.length === 0) return NaN;
  return sorted[Math.round(share * (sorted.length - 1))];
}

/**
 * The series that are far from the median for at least a tenth of the time, measured by the distance that is
 * usual for all series.
 * @param {ChartCurve[]} series @param {number[][]} sampled @param {number[]} median
 */
function unusualSeries(series, sampled, median) {
  const distances = sampled.map((values) =>
    Float64Array.from(values.map((value, k) => Math.abs(value - median[k])).filter(Number.isFinite)).sort(),
  );
  const typical = Float64Array.from(distances.map((sorted) => quantile(sorted, 0.5)).filter(Number.isFinite)).sort();
  const usual = quantile(typical, 0.5);
  const size = quantile(Float64Array.from(median.map(Math.abs).filter(Number.isFinite)).sort(), 0.5);
  const limit = Math.max(FAR * usual, 1e-6 * size, Number.MIN_VALUE);
  return series
    .map((curve, i) => ({ curve, far: quantile(distances[i], SUSTAINED) }))
    .filter(({ far }) => far > limit)
    .sort((a, b) => b.far - a.far)
    .slice(0, MAX_UNUSUAL)
    .map(({ curve }) => curve);
}
