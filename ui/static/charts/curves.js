// @ts-check
/**
 * Calculations on chart data: values at the crosshair, y ranges without outliers, smoothing, label
 * layout. Pure: no DOM, no plotting library.
 */

import { numeric } from "../lib/format.js";

/**
 * A segment of a curve; `x`: its positions on axes other than steps and wall time; of its band, on all but steps.
 * @typedef {Omit<import("../lib/api_types.js").ChartSegment, "band"> & { x?: number[],
 *   band: (import("../lib/api_types.js").ChartBand & { x?: number[] }) | null }} ChartSegment
 */
/**
 * The run that a curve belongs to, on pages with several runs.
 * @typedef {{ id: string, name: string, colour: string }} CurveOwner
 */
/**
 * A curve; `run`: its run on pages with several runs, `text`: its name there; `computed`: from several curves, so
 * that its steps are positions on the axis.
 * @typedef {Omit<import("../lib/api_types.js").ChartCurve, "segments"> & { segments: ChartSegment[], run?: CurveOwner, text?: string, computed?: boolean }} ChartCurve
 */
/**
 * What the x axis shows: steps, wall time, seconds since the first point, tokens, samples, or a metric that only grows.
 * @typedef {"step" | "time" | "relative" | "tokens" | "samples" | `metric:${string}`} Axis
 */

/**
 * Exponential moving average with bias correction, so that the first values are not pulled to zero.
 * @param {number[]} values @param {number} strength 0 (none) to 0.999
 */
export function smooth(values, strength) {
  let sum = 0;
  let weight = 0;
  return values.map((value) => {
    sum = strength * sum + (1 - strength) * value;
    weight = strength * weight + (1 - strength);
    return sum / weight;
  });
}

/** Index of the first element not below `x` in a sorted list. @param {ArrayLike<number>} sorted @param {number} x */
export function lowerBound(sorted, x) {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < x) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** `y` at `x` by linear interpolation between sorted points, constant beyond the ends. @param {number[]} xs @param {number[]} ys @param {number} x */
export function interpolate(xs, ys, x) {
  const i = lowerBound(xs, x);
  if (i === 0) return ys[0];
  if (i >= xs.length) return ys[ys.length - 1];
  const share = (x - xs[i - 1]) / (xs[i] - xs[i - 1] || 1);
  return ys[i - 1] + share * (ys[i] - ys[i - 1]);
}

/** Unix seconds as milliseconds, the unit of a date axis, which shows them in the reader's time zone. @param {number} seconds */
export const milliseconds = (seconds) => 1000 * seconds;

/** @type {WeakMap<ChartSegment, number[]>} */
const clockPositions = new WeakMap();

/**
 * The x positions of a segment's points. On axes other than steps and wall time they have been computed when the
 * points arrived (`x_axes.js`).
 * @param {ChartSegment & { x?: number[] }} segment @param {Axis} axis @returns {number[]}
 */
export function axisPositions(segment, axis) {
  if (axis === "step") return segment.step;
  if (axis !== "time") return segment.x ?? [];
  const known = clockPositions.get(segment);
  if (known) return known;
  const positions = segment.time.map((time) => milliseconds(numeric(time)));
  clockPositions.set(segment, positions);
  return positions;
}

/**
 * The x positions of the buckets of a band. A bucket has a step; its time is interpolated from the points.
 * @param {ChartSegment} segment @param {Axis} axis @returns {number[]}
 */
export function bandPositions(segment, axis) {
  const steps = segment.band?.step ?? [];
  if (axis === "step") return steps;
  if (segment.band?.x) return segment.band.x;
  const positions = axisPositions(segment, axis);
  return steps.map((step) => interpolate(segment.step, positions, step));
}

/**
 * @typedef {{ x: number, step: number, time: number | null, value: number, attempt: number,
 *   distance: number, covers: boolean }} NearestPoint
 */

/**
 * The points nearest to a position: of the current timeline, and of a superseded branch that covers it.
 * @param {ChartCurve} series @param {Axis} axis @param {number} x
 * @returns {{ live: NearestPoint | null, ghost: NearestPoint | null }}
 */
export function nearestPoints(series, axis, x) {
  const best = (/** @type {boolean} */ ghost) =>
    series.segments
      .filter((segment) => segment.ghost === ghost && segment.step.length > 0)
      .map((segment) => nearestInSegment(segment, axis, x))
      .reduce(
        (/** @type {NearestPoint | null} */ closest, point) =>
          closest && closest.distance <= point.distance ? closest : point,
        null,
      );
  const live = best(false);
  const ghost = best(true);
  return { live, ghost: ghost?.covers ? ghost : null };
}

/** @param {ChartSegment} segment @param {Axis} axis @param {number} x @returns {NearestPoint} */
function nearestInSegment(segment, axis, x) {
  const positions = axisPositions(segment, axis);
  const i = lowerBound(positions, x);
  const k = i === positions.length || (i > 0 && x - positions[i - 1] < positions[i] - x) ? i - 1 : i;
  const covers = positions[0] <= x && x <= positions[positions.length - 1];
  return {
    x: positions[k],
    step: segment.step[k],
    time: segment.time[k] ?? null,
    value: segment.value[k],
    attempt: segment.attempt,
    distance: Math.abs(positions[k] - x),
    covers,
  };
}

/** @param {Float64Array} sorted @param {number} share */
const quantile = (sorted, share) =>
  sorted[Math.min(sorted.length - 1, Math.max(0, Math.round(share * (sorted.length - 1))))];

/**
 * @typedef {{ low: number, high: number, above: number, below: number, hidden: number, warmup: boolean }} YRange
 *   `above`, `below`: numbers of values outside; `hidden`: values <= 0 on a logarithmic axis; `warmup`: the
 *   first steps are outside
 */

const WARMUP_SHARE = 0.1; // of the steps: what comes before does not set the y range if it would flatten the rest
const FLATTENED = 2.5; // times the y range of the rest
const ENTRY_SHARE = 0.25; // of that range, in which the end of the warm-up is seen

/**
 * A y range without outliers. Values far outside the rest of their own series are left out and counted, so
 * that the page can report them; so is the warm-up if it would flatten what follows. `whole`: include every value.
 * @param {ChartCurve[]} series @param {{ log: boolean, whole: boolean, foot?: boolean, warmup?: boolean }} options
 *   `foot`: leave space below the curves for attempt numbers; `warmup`: the series begin with the warm-up
 * @returns {YRange | null}
 */
export function yRange(series, { log, whole, foot = false, warmup = false }) {
  const values = series.map((curve) => curve.segments.flatMap((segment) => segment.value));
  const usable = values.map((list) => axisValues(list, log)).filter((list) => list.length > 0);
  if (usable.length === 0) return null;
  const bounds = whole ? extremes(usable) : withoutOutliers(usable);
  const settled = warmup && !whole ? settledBounds(series, bounds, log) : null;
  let [low, high] = settled ?? bounds;
  const margin = high > low ? 0.06 * (high - low) : Math.abs(high) * 0.05 || 0.5;
  low -= foot ? 2 * margin : margin;
  high += margin;
  const total = (/** @type {ArrayLike<number>[]} */ lists) =>
    lists.reduce((sum, list) => sum + list.length, 0);
  return {
    low,
    high,
    hidden: total(values) - total(usable),
    above: usable.reduce((sum, sorted) => sum + sorted.length - lowerBound(sorted, high), 0),
    below: usable.reduce((sum, sorted) => sum + lowerBound(sorted, low), 0),
    warmup: settled !== null,
  };
}

/** @param {Float64Array[]} sorted lists @returns {[number, number]} */
const extremes = (sorted) => [
  Math.min(...sorted.map((list) => list[0])),
  Math.max(...sorted.map((list) => list[list.length - 1])),
];

/** @param {Float64Array[]} sorted lists @returns {[number, number]} */
function withoutOutliers(sorted) {
  const spans = sorted.map(robustExtremes);
  return [Math.min(...spans.map(([from]) => from)), Math.max(...spans.map(([, to]) => to))];
}

/** The bounds of what follows the warm-up, if that would be flat within `bounds`. @param {ChartCurve[]} series @param {[number, number]} bounds @param {boolean} log @returns {[number, number] | null} */
function settledBounds(series, bounds, log) {
  const spans = series.map(stepSpan);
  const first = Math.min(...spans.map(([from]) => from));
  const last = Math.max(...spans.map(([, to]) => to));
  const settled = first + WARMUP_SHARE * (last - first);
  const rest = series
    .map((curve, i) => {
      // a curve that is much shorter than another must not vanish as that one's warm-up
      const own = spans[i][0] + WARMUP_SHARE * (spans[i][1] - spans[i][0]);
      const from = Math.min(settled, own);
      return curve.segments.flatMap(({ step, value }) => value.slice(lowerBound(step, from)));
    })
    .map((list) => axisValues(list, log))
    .filter((list) => list.length > 0);
  if (rest.length === 0) return null;
  const all = extremes(rest); // with spikes, unless they flatten the rest as the warm-up does
  const flattens = (/** @type {number} */ span) => bounds[1] - bounds[0] >= FLATTENED * span;
  const [low, high] = flattens(all[1] - all[0]) ? all : withoutOutliers(rest);
  const span = high - low;
  if (!(span > 0) || !flattens(span)) return null;
  return [Math.max(bounds[0], low - ENTRY_SHARE * span), Math.min(bounds[1], high + ENTRY_SHARE * span)];
}

/** First and last step of a curve; an empty one has none. @param {ChartCurve} curve @returns {[number, number]} */
function stepSpan({ segments }) {
  const filled = segments.filter(({ step }) => step.length > 0);
  return [
    Math.min(...filled.map(({ step }) => step[0])),
    Math.max(...filled.map(({ step }) => step[step.length - 1])),
  ];
}

/** The values that an axis can show (their logarithms on a logarithmic axis), ascending. @param {number[]} values @param {boolean} log */
function axisValues(values, log) {
  const usable = values.filter((value) => Number.isFinite(value) && (!log || value > 0));
  return Float64Array.from(usable, (value) => (log ? Math.log10(value) : value)).sort();
}

/** Minimum and maximum without outliers: values more than three times the 1–99 % spread outside it. @param {Float64Array} sorted @returns {number[]} */
function robustExtremes(sorted) {
  const [least, most] = [sorted[0], sorted[sorted.length - 1]];
  const [q1, q99] = [quantile(sorted, 0.01), quantile(sorted, 0.99)];
  const spread = q99 - q1;
  const far = 3 * spread;
  return [
    spread > 0 && q1 - least > far ? q1 - 0.15 * spread : least,
    spread > 0 && most - q99 > far ? q99 + 0.15 * spread : most,
  ];
}

const ICON_WIDTH = 20; // pixels: a label reduced to its icon

/**
 * Lay out labels on one line. Labels with a lower weight are placed first and keep their position and text; one
 * that would overlap another is reduced to its icon at the nearest free position.
 * @param {{ x: number, width: number, weight: number }[]} labels @param {number} width of the line
 * @returns {{ left: number, full: boolean }[]} in the order given
 */
export function layOutLabels(labels, width) {
  const order = labels
    .map((_, i) => i)
    .sort((a, b) => labels[a].weight - labels[b].weight || labels[a].x - labels[b].x);
  /** @type {{ left: number, full: boolean }[]} */
  const placed = new Array(labels.length);
  /** @type {[number, number][]} */
  const taken = [];
  const clamp = (/** @type {number} */ left, /** @type {number} */ size) =>
    Math.max(0, Math.min(left, width - size));
  const blocking = (/** @type {number} */ left, /** @type {number} */ size) =>
    taken.find(([from, to]) => left + size > from && left < to);
  const nearestFreePosition = (/** @type {number} */ x) => {
    const positions = [x, ...taken.flatMap(([from, to]) => [to, from - ICON_WIDTH])];
    const free = positions.filter(
      (left) => left >= 0 && left + ICON_WIDTH <= width && !blocking(left, ICON_WIDTH),
    );
    return free.sort((a, b) => Math.abs(a - x) - Math.abs(b - x))[0] ?? x;
  };
  for (const i of order) {
    const preferred = clamp(labels[i].x, labels[i].width);
    const full = !blocking(preferred, labels[i].width);
    const size = full ? labels[i].width : ICON_WIDTH;
    const left = full ? preferred : nearestFreePosition(clamp(labels[i].x, ICON_WIDTH));
    placed[i] = { left, full };
    taken.push([left, left + size]);
  }
  return placed;
}

/** Runs of consecutive non-finite values, for the list below a chart. @param {ChartCurve} series */
export function nonfiniteRuns(series) {
  /** @type {{ attempt: number, value: string, first: number, last: number, count: number }[]} */
  const runs = [];
  for (const { attempt, step, value } of series.nonfinite) {
    const last = runs.at(-1);
    const word = String(value);
    if (last && last.attempt === attempt && last.value === word)
      Object.assign(last, { last: step, count: last.count + 1 });
    else runs.push({ attempt, value: word, first: step, last: step, count: 1 });
  }
  return runs;
}
