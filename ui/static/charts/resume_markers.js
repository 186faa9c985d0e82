// @ts-check
/** Ticks at the x axis where attempts resumed, with attempt numbers, as many as are legible. Pure. */

import { axisPositions, interpolate, milliseconds } from "./curves.js";

/** @typedef {import("./traces.js").Picture} Picture */

const TICK_HEIGHT = 0.055; // share of the plot's height
const TICK_GAP = 4; // pixels between ticks
const LABEL_GAP = 20; // pixels between the numbers of two attempts
const TICK_PADDING = 6; // pixels between a tick and its number, and after the number
const DIGIT_WIDTH = 6.2; // pixels

/**
 * The x position of a step of an attempt: the step itself, or interpolated from the axis or the curves. Pure.
 * @param {Picture} picture @param {number} step @param {number} [attempt]
 */
export function positionOfStep({ axis, series, xOf }, step, attempt) {
  if (axis === "step") return step;
  if (xOf && axis !== "time") return xOf(step, attempt);
  const segments = series.flatMap((curve) => curve.segments).filter((segment) => segment.step.length > 0);
  const ownSegments = segments.filter((segment) => attempt === undefined || segment.attempt === attempt);
  const containing =
    ownSegments.find((segment) => segment.step[0] <= step && step <= segment.step[segment.step.length - 1]) ??
    ownSegments.at(-1) ??
    segments.at(-1);
  if (!containing) return NaN;
  return interpolate(containing.step, axisPositions(containing, axis), step);
}

/**
 * Ticks and labels, left out where they would overlap the previous one. Pure.
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
    const x = clocked ? milliseconds(time) : positionOfStep(picture, step, number);
    if (!(x >= range[0] && x <= range[1])) continue;
    const text = String(number);
    const end = x + (TICK_PADDING + DIGIT_WIDTH * text.length) * perPixel;
    const labelled = x >= labelFrom && end <= range[1];
    if (!labelled && x < tickFrom) continue;
    ticks.push(x);
    tickFrom = labelled ? end : x + TICK_GAP * perPixel;
    if (!labelled) continue;
    labels.push({ x, text });
    labelFrom = end + LABEL_GAP * perPixel;
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
      y: ticks.flatMap(() => [0, TICK_HEIGHT, null]),
      line: { color: colour, width: 1.4, simplify: false },
    },
    {
      ...common,
      mode: "text",
      name: "attempts",
      x: labels.map((label) => label.x),
      y: labels.map(() => TICK_HEIGHT / 2),
      text: labels.map((label) => ` ${label.text}`),
      textposition: "middle right",
      textfont: { family: "inherit", size: picture.fontSize - 1, color: colour },
    },
  ];
}
