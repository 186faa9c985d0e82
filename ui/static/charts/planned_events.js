// @ts-check
/** Planned events of a run, as text and as shapes on a chart. Pure. */

import { positionOfStep } from "./resume_markers.js";
import { fade } from "./traces.js";
import { kindTitle } from "../lib/catalogue.js";
import { count, sentenceCase, step as stepText } from "../lib/format.js";

/** @typedef {import("../lib/api_types.js").PlannedEventView} PlannedEventView */
/** @typedef {import("./traces.js").Picture} Picture */

const MAX_SPANS = 24; // repetitions of one event on a chart: more would hide the curves
const LABEL_LIMIT = 0.85; // share of the width after which a label does not fit any more
const SPEED_KINDS = ["throughput_regression", "straggler", "comm_slowdown", "stall", "memory_leak"];
const SPEED_ROLES = ["throughput", "step_time", "mfu", "compute_time", "collective_time", "memory"];

/** Title of a planned event: what is planned, otherwise the kinds of incident that it allows. @param {PlannedEventView} event */
export function plannedEventTitle({ what, kinds }) {
  if (what) return sentenceCase(what);
  if (kinds.includes("spike_slow") && kinds.includes("divergence")) return "Rise or shift of the loss";
  const few = kinds.slice(0, 2).map((kind) => kindTitle(kind)).join(", ");
  return kinds.length > 2 ? `${few} and ${kinds.length - 2} more` : few;
}

/** The steps of a planned event, as text. @param {PlannedEventView} event */
export function plannedEventSteps({ from_step: from, to_step: to, every, lasting }) {
  const cadence = every === null ? "" : `every ${count(every, "step")} for ${stepText(lasting)}`;
  return [cadence, stepRangeText(from, to)].filter(Boolean).join(", ");
}

/** @param {number} from @param {number | null} to */
function stepRangeText(from, to) {
  if (to === from) return `at step ${stepText(from)}`;
  if (to !== null) return `steps ${stepText(from)} to ${stepText(to)}`;
  return from > 0 ? `from step ${stepText(from)} on` : "";
}

/** Whether a planned event concerns charts of a role. @param {PlannedEventView} event @param {string} role */
function appliesToRole({ kinds }, role) {
  return kinds.some((kind) => SPEED_KINDS.includes(kind) === SPEED_ROLES.includes(role));
}

/** Who or what declared a planned event. @param {PlannedEventView} event */
export function plannedEventSource({ scope, added_by: by }) {
  if (scope === "settings") return "holter.toml";
  return [scope === "project" ? "for the project" : "", by ? `by ${by}` : ""].filter(Boolean).join(", ");
}

/**
 * The spans of steps of planned events within a range; none of an event that repeats too often.
 * @param {PlannedEventView[]} expected @param {[number, number]} range @returns {[number, number][]}
 */
export function plannedSpans(expected, [first, last]) {
  return expected.flatMap(({ from_step: from, to_step: to, every, lasting }) => {
    const end = Math.min(to ?? last, last);
    if (every === null)
      return end >= first && from <= last ? [/** @type {[number, number]} */ ([from, end])] : [];
    const begin = from + every * Math.max(0, Math.floor((first - from) / every));
    if ((end - begin) / every > MAX_SPANS) return [];
    /** @type {[number, number][]} */
    const spans = [];
    for (let start = begin; start <= end; start += every) spans.push([start, start + (lasting ?? 0)]);
    return spans;
  });
}

/** Position of the label where neither curves nor attempt numbers are. @param {Picture} picture */
function labelPosition({ role, attempts }) {
  if (!SPEED_ROLES.includes(role) && role !== "learning_rate") return "top left";
  return attempts.length > 1 ? "middle left" : "bottom left";
}

/** Plotly shapes of planned events: a faint band between dotted lines. @param {Picture} picture */
export function plannedEventShapes(picture) {
  const { attempts, expected, palette, axis, range } = picture;
  const newest = attempts.at(-1);
  if (!newest || expected.length === 0) return [];
  const steps = /** @type {[number, number]} */ (
    axis === "step" && range
      ? range
      : [Math.min(...attempts.map((attempt) => attempt.first_step)), newest.last_step]
  );
  const dotted = { color: palette["line-strong"], width: 1, dash: "dot" };
  const relevant = expected.filter((event) => appliesToRole(event, picture.role));
  const spans = plannedSpans(relevant, steps).map(([from, to]) => [Math.max(from, steps[0]), to]);
  const named = spans.findIndex(([from]) => from < steps[0] + LABEL_LIMIT * (steps[1] - steps[0]));
  return spans.map(([from, to], i) => ({
    type: "rect",
    layer: "below",
    xref: "x",
    yref: "paper",
    y0: 0,
    y1: 1,
    x0: positionOfStep(picture, from, newest.number),
    x1: positionOfStep(picture, to, newest.number),
    fillcolor: fade(palette["ink-quiet"], 0.08),
    line: dotted,
    label: {
      text: i === named ? "planned" : "",
      textposition: labelPosition(picture),
      textangle: 0,
      font: { size: picture.fontSize, color: palette["ink-quiet"] },
    },
  }));
}
