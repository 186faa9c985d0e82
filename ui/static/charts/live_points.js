// @ts-check
/** Adds new points to curves already fetched, so that a live chart does not fetch everything again. Pure. */

import { lowerBound } from "./curves.js";

/** @typedef {import("./curves.js").ChartCurve} ChartCurve */
/** @typedef {import("./curves.js").ChartSegment} ChartSegment */

/** The last step of a curve, finite or not; null without points. @param {ChartCurve} curve */
export function lastStep({ segments, nonfinite }) {
  const ends = segments.flatMap((segment) => segment.step.slice(-1)).concat(nonfinite.slice(-1).map(({ step }) => step));
  return ends.length ? Math.max(...ends) : null;
}

/**
 * A curve with the points of `tail` that come after its own; null if it must be fetched again: the tail is
 * reduced, or of another attempt. A reduced curve gets more buckets of the same width.
 * @param {ChartCurve} curve @param {ChartCurve} tail @returns {ChartCurve | null}
 */
export function appended(curve, tail) {
  const live = curve.segments.filter((segment) => !segment.ghost);
  const own = live[live.length - 1];
  const earlier = (/** @type {ChartSegment} */ { ghost, attempt }) => ghost && own !== undefined && attempt < own.attempt; // which gets no more points
  const arrived = tail.segments.filter((segment) => segment.step.length > 0 && !earlier(segment));
  if (arrived.some((segment) => segment.ghost || segment.attempt !== own?.attempt || isReduced(segment))) return null;
  const end = own?.step[own.step.length - 1] ?? -Infinity;
  const nonfiniteEnd = Math.max(end, curve.nonfinite[curve.nonfinite.length - 1]?.step ?? -Infinity);
  const nonfinite = tail.nonfinite.filter(({ step }) => step > nonfiniteEnd);
  const added = arrived.map((segment) => after(segment, end)).filter((segment) => segment.step.length > 0);
  if (added.length === 0 && nonfinite.length === 0) return curve;
  const extended = added.reduce(joined, own);
  return {
    ...curve,
    count: curve.count + added.reduce((sum, segment) => sum + segment.step.length, 0) + nonfinite.length,
    segments: curve.segments.map((segment) => (segment === own ? extended : segment)),
    nonfinite: [...curve.nonfinite, ...nonfinite],
    nonfinite_count: curve.nonfinite_count + nonfinite.length,
  };
}

/** @param {ChartSegment} segment */
const isReduced = ({ band }) => band !== null && band.step.length > 1;

/** The points of a segment after a step. @param {ChartSegment} segment @param {number} end @returns {ChartSegment} */
function after(segment, end) {
  const k = lowerBound(segment.step, end + 1);
  const rest = (/** @type {any[] | undefined} */ list) => list?.slice(k);
  return {
    ...segment,
    step: segment.step.slice(k),
    time: segment.time.slice(k),
    value: segment.value.slice(k),
    x: rest(segment.x),
  };
}

/** @param {ChartSegment} a @param {ChartSegment} b @returns {ChartSegment} */
function joined(a, b) {
  return {
    ...a,
    step: [...a.step, ...b.step],
    time: [...a.time, ...b.time],
    value: [...a.value, ...b.value],
    x: a.x && b.x ? [...a.x, ...b.x] : undefined,
    band: isReduced(a) && a.band ? moreBuckets(a.band, b) : a.band,
  };
}

/** A band with the points of a segment in buckets of the band's width. @param {import("../lib/api_types.js").ChartBand} band @param {ChartSegment} segment */
function moreBuckets(band, { step, value }) {
  const n = band.step.length;
  const width = Math.max(1, (band.step[n - 1] - band.step[0]) / (n - 1));
  const result = { step: [...band.step], minimum: [...band.minimum], maximum: [...band.maximum], mean: [...band.mean] };
  let count = 0;
  let start = Math.max(band.step[n - 1] + width, step[0]);
  for (let i = 0; i < step.length; i++) {
    if (count === 0 || step[i] >= start + width) {
      start = step[i];
      count = 0;
      result.step.push(step[i]);
      result.minimum.push(value[i]);
      result.maximum.push(value[i]);
      result.mean.push(value[i]);
    }
    const k = result.step.length - 1;
    count += 1;
    result.minimum[k] = Math.min(result.minimum[k], value[i]);
    result.maximum[k] = Math.max(result.maximum[k], value[i]);
    result.mean[k] += (value[i] - result.mean[k]) / count;
  }
  return result;
}
