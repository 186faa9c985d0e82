// @ts-check
/** Conversion between ranges of steps and of time. Pure. */

import { milliseconds } from "./curves.js";
import { layOutAttempts, stepsBetween } from "./health_strip.js";

/** @typedef {import("../lib/api_types.js").HealthStrip} HealthStrip */
/** @typedef {import("./curves.js").Axis} Axis */

const MARGIN = 0.01; // share of the range that is left empty on both sides

/** The range of the entire run on an axis, with a margin. @param {HealthStrip} strip @param {Axis} axis @returns {[number, number] | null} */
export function fullRange(strip, axis) {
  const ends = axis === "step" ? [strip.first_step, strip.last_step] : timeExtent(strip);
  const [low, high] = ends;
  if (low === null || high === null || low === undefined || high === undefined) return null;
  const margin = MARGIN * (high - low) || 0.5;
  return [low - margin, high + margin];
}

/** @param {HealthStrip} strip */
function timeExtent(strip) {
  const times = strip.attempts
    .flatMap((attempt) => [attempt.first_time, attempt.last_time])
    .filter((time) => time !== null);
  if (times.length === 0) return [null, null];
  return [milliseconds(Math.min(...times)), milliseconds(Math.max(...times))];
}

/**
 * The steps to fetch for a range; nulls fetch everything.
 * @param {HealthStrip} strip @param {Axis} axis @param {[number, number] | null} range on the axis
 * @returns {{ from: number | null, to: number | null }}
 */
export function stepsInRange(strip, axis, range) {
  if (range === null) return { from: null, to: null };
  if (axis === "step") return { from: Math.floor(range[0]), to: Math.ceil(range[1]) };
  const times = strip.attempts
    .flatMap((attempt) => [attempt.first_time, attempt.last_time])
    .filter((time) => time !== null);
  const begin = Math.min(...times);
  const length = Math.max(...times) - begin || 1;
  const position = (/** @type {number} */ x) => (x / 1000 - begin) / length;
  const steps = stepsBetween(layOutAttempts(strip), position(range[0]), position(range[1]));
  if (!steps) return { from: null, to: null };
  const slack = Math.ceil(0.02 * (steps[1] - steps[0])) + 1; // steps are not evenly spaced in time
  return { from: steps[0] - slack, to: steps[1] + slack };
}

/** A range of steps on an axis; approximate on a time axis, since steps are not evenly spaced in time. @param {HealthStrip} strip @param {Axis} axis @param {[number, number]} steps @returns {[number, number]} */
export function stepsToAxis(strip, axis, steps) {
  const ends = fullRange(strip, axis);
  const allSteps = fullRange(strip, "step");
  if (axis === "step" || ends === null || allSteps === null) return steps;
  const share = (/** @type {number} */ step) => (step - allSteps[0]) / (allSteps[1] - allSteps[0] || 1);
  const [from, to] = steps.map((step) => ends[0] + share(step) * (ends[1] - ends[0]));
  return [from, to];
}
