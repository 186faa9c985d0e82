// @ts-check
/** Where attempts resumed: small ticks at the axis with the attempt's number, as many as can be told apart. Pure. */

import { along, milliseconds } from "./curves.js";
import { numeric } from "../lib/format.js";

/** @typedef {import("./traces.js").Picture} Picture */

const TICK = 0.055; // of the plot's height
const TICKS_APART = 4; // pixels: closer ticks would be a bar
const LABELS_APART = 20; // pixels between the numbers of two attempts
const BESIDE = 6; // pixels between a tick and its number, and after the number
const DIGIT = 6.2; // pixels

/**
 * Where a step of an attempt lies on the axis: itself, or its time read off the curves. Pure.
 * @param {Picture} picture @param {number} step @param {number} [attempt]
 */
export function placeOf({ axis, series }, step, attempt) {
  if (axis === "step") return step;
  const segments = series.flatMap((one) => one.segments).filter((one) => one.step.length > 0);
  const own = segments.filter((segment) => attempt === undefined || segment.attempt === attempt);
  const holding =
    own.find((one) => one.step[0] <= step && step <= one.step[one.step.length - 1]) ??
    own.at(-1) ??
    segments.at(-1);
  if (!holding) return NaN;
  return milliseconds(along(holding.step, holding.time.map(numeric), step));
}

/**
 * Ticks and numbers, left out where they would touch the one before. Pure.
 * @param {Picture} picture @returns {{ ticks: number[], labels: { x: number, text: string }[] }}
 */
export function resumeMarks(picture) {
  const { attempts, axis, range, width } = picture;
  if (range === null) return { ticks: [], labels: [] };
  const perPixel = (range[1] - range[0]) / Math.max(1, width);
  /** @type {number[]} */
  const ticks = [];
  /** @type {{ x: number, text: string }[]} */
  const labels = [];
  let labelFrom = -Infinity;
  let tickFrom = -Infinity;
  for (const { number, first_step: step, first_time: time } of attempts.slice(1)) {
    const clocked = axis === "time" && time !== null && time !== undefined;
    const x = clocked ? milliseconds(time) : placeOf(picture, step, number);
    if (!(x >= range[0] && x <= range[1])) continue;
    const text = String(number);
    const end = x + (BESIDE + DIGIT * text.length) * perPixel;
    const labelled = x >= labelFrom && end <= range[1];
    if (!labelled && x < tickFrom) continue;
    ticks.push(x);
    tickFrom = labelled ? end : x + TICKS_APART * perPixel;
    if (!labelled) continue;
    labels.push({ x, text });
    labelFrom = end + LABELS_APART * perPixel;
  }
  return { ticks, labels };
}

/** @param {Picture} picture */
export function resumeTraces(picture) {
  const { ticks, labels } = resumeMarks(picture);
  if (ticks.length === 0) return [];
  const colour = picture.palette["ink-quiet"];
  const common = { type: "scatter", yaxis: "y2", hoverinfo: "skip", showlegend: false };
  return [
    {
      ...common,
      mode: "lines",
      name: "resumes",
      x: ticks.flatMap((x) => [x, x, null]),
      y: ticks.flatMap(() => [0, TICK, null]),
      line: { color: colour, width: 1.4, simplify: false },
    },
    {
      ...common,
      mode: "text",
      name: "attempts",
      x: labels.map((one) => one.x),
      y: labels.map(() => TICK / 2),
      text: labels.map((one) => ` ${one.text}`),
      textposition: "middle right",
      textfont: { family: "inherit", size: picture.fontSize - 1, color: colour },
    },
  ];
}
