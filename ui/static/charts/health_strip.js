// @ts-check
/**
 * The health strip: the whole life of a run in one row. Attempts are segments, lost work is hatched,
 * pauses are empty, incidents are ticks, throughput is a faint area.
 */

import { h, svg } from "../lib/dom.js";
import { count, step as stepText } from "../lib/format.js";
import { incidentTitle, severityRank } from "../lib/labels.js";

/** @typedef {import("../lib/api_types.js").HealthStrip} HealthStrip */
/** @typedef {import("../lib/api_types.js").StripAttempt} StripAttempt */
/** @typedef {{ attempt: StripAttempt, from: number, to: number, lost: number }} Stretch one attempt; where it lies between 0 and 1, and where its lost work begins */

const WIDTH = 1000;
const MIN_WIDTH = 0.0015; // of the width: an attempt that crashed at once is still seen
const LETTER_WIDTH = 6.6; // pixels, of a label
const LABEL_GAP = 14;
let patterns = 0;

/**
 * Does the log have times? A single moment, as of a log with one stamp, is no clock. Pure.
 * @param {StripAttempt[]} attempts
 */
export function hasTimes(attempts) {
  const times = attempts.flatMap((attempt) => [attempt.first_time, attempt.last_time]);
  return times.every((time) => time !== null) && new Set(times).size > 1;
}

/**
 * Lay the attempts along the life of the run: by the clock where the log has one, else one after the
 * other by steps done. Pure.
 * @param {HealthStrip} strip @returns {Stretch[]}
 */
export function layOutAttempts(strip) {
  const attempts = strip.attempts.filter((attempt) => attempt.last_step >= attempt.first_step);
  if (attempts.length === 0) return [];
  const timed = hasTimes(attempts);
  const steps = attempts.map((a) => a.last_step - a.first_step + 1);
  let done = 0;
  const spans = attempts.map((a, i) => {
    if (timed) return [/** @type {number} */ (a.first_time), /** @type {number} */ (a.last_time)];
    done += steps[i];
    return [done - steps[i], done];
  });
  const begin = Math.min(...spans.map(([from]) => from));
  const length = Math.max(...spans.map(([, to]) => to)) - begin || 1;
  return attempts.map((attempt, i) => {
    const from = (spans[i][0] - begin) / length;
    const to = Math.max((spans[i][1] - begin) / length, Math.min(1, from + MIN_WIDTH));
    const share =
      attempt.lost_from_step === null ? 1 : (attempt.lost_from_step - attempt.first_step) / steps[i];
    return { attempt, from, to, lost: from + Math.max(0, share) * (to - from) };
  });
}

/**
 * Where a step lies, 0 to 1. Without an attempt: in the newest that reached it, for that is the timeline. Pure.
 * @param {Stretch[]} along @param {number} step @param {number} [number] the attempt
 */
export function positionOfStep(along, step, number) {
  const reached = along.filter(({ attempt: a }) => a.first_step <= step && step <= a.last_step);
  const containing = reached.find(({ attempt }) => attempt.number === number) ?? reached.at(-1);
  if (!containing) {
    const before = along.filter(({ attempt }) => attempt.last_step < step).at(-1);
    return before ? before.to : (along[0]?.from ?? 0);
  }
  const { attempt, from, to } = containing;
  return (
    from + ((step - attempt.first_step) / Math.max(1, attempt.last_step - attempt.first_step)) * (to - from)
  );
}

/**
 * The steps that were done between two places, null where none were. Pure.
 * @param {Stretch[]} along @param {number} from @param {number} to @returns {[number, number] | null}
 */
export function stepsBetween(along, from, to) {
  const overlapping = along.filter((segment) => segment.to >= from && segment.from <= to);
  if (overlapping.length === 0) return null;
  const stepAt = (/** @type {Stretch} */ segment, /** @type {number} */ position) => {
    const share = Math.min(1, Math.max(0, (position - segment.from) / (segment.to - segment.from || 1)));
    return Math.round(segment.attempt.first_step + share * (segment.attempt.last_step - segment.attempt.first_step));
  };
  return [Math.min(...overlapping.map((segment) => stepAt(segment, from))), Math.max(...overlapping.map((segment) => stepAt(segment, to)))];
}

/** What the strip shows, in a sentence. @param {HealthStrip} strip */
export function stripSummary(strip) {
  if (strip.attempts.length === 0) return "No points yet";
  const open = strip.incidents.filter((incident) => incident.state === "open").length;
  const parts = [
    `steps ${stepText(strip.first_step)} to ${stepText(strip.last_step)}`,
    count(strip.attempts.length, "attempt"),
    strip.incidents.length ? `${count(strip.incidents.length, "incident")}, ${open} open` : "no incidents",
  ];
  return parts.join(", ");
}

/** @param {HealthStrip} strip @returns {SVGElement} */
export function drawStrip(strip) {
  const along = layOutAttempts(strip);
  const hatch = `hatch-${++patterns}`;
  const picture = svg("svg", {
    class: "strip-picture",
    viewBox: `0 0 ${WIDTH} 100`,
    preserveAspectRatio: "none",
    role: "img",
    "aria-label": stripSummary(strip),
  });
  picture.append(
    svg(
      "defs",
      {},
      svg(
        "pattern",
        { id: hatch, width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
        svg("rect", { width: 1.6, height: 5, class: "strip-hatch" }),
      ),
    ),
  );
  for (const { attempt, from, to, lost } of along) {
    picture.append(rect("strip-attempt", from, Math.min(lost, to), 0, 100));
    if (attempt.lost_from_step === null) continue;
    picture.append(rect("strip-lost", lost, to, 0, 100));
    const shade = rect("", lost, to, 0, 100);
    shade.setAttribute("fill", `url(#${hatch})`);
    picture.append(shade);
  }
  for (const d of throughputAreas(strip, along))
    picture.append(svg("path", { class: "strip-throughput", d }));
  for (const { from, to } of along) picture.append(rect("strip-base", from, to, 94, 6));
  const bySeverity = [...strip.incidents].sort((a, b) => severityRank(b.severity) - severityRank(a.severity));
  for (const incident of bySeverity) picture.append(...incidentMarks(incident, along));
  return picture;
}

/** @param {import("../lib/api_types.js").StripIncident} incident @param {Stretch[]} along */
function incidentMarks(incident, along) {
  const start = positionOfStep(along, incident.start_step, incident.attempt);
  const own = along.find(({ attempt }) => attempt.number === incident.attempt) ?? along.at(-1);
  const until =
    incident.end_step ?? (incident.state === "open" ? own?.attempt.last_step : incident.start_step);
  const next =
    incident.end_step !== null && incident.end_step <= incident.start_step
      ? (incident.attempt ?? 0) + 1
      : incident.attempt;
  const end = Math.max(start, positionOfStep(along, until ?? incident.start_step, next));
  const title = svg(
    "title",
    {},
    `${incidentTitle(incident)} at step ${stepText(incident.start_step)}, ${incident.state}`,
  );
  const tone = `strip-${incident.severity}${incident.state === "closed" ? " strip-closed" : ""}`;
  const line = svg(
    "line",
    {
      class: `strip-tick ${tone}`,
      x1: start * WIDTH,
      x2: start * WIDTH,
      y1: 0,
      y2: 100,
      "vector-effect": "non-scaling-stroke",
    },
    title,
  );
  return [rect(`strip-extent ${tone}`, start, end, 0, 100), line];
}

/** @param {string} name @param {number} from @param {number} to @param {number} y @param {number} height */
function rect(name, from, to, y, height) {
  return svg("rect", { class: name, x: from * WIDTH, width: Math.max(0, to - from) * WIDTH, y, height });
}

/** One closed path per attempt: nothing joins across a restart. @param {HealthStrip} strip @param {Stretch[]} along */
function throughputAreas({ throughput }, along) {
  const bins = (throughput?.step ?? []).flatMap((at, k) => {
    const share = throughput?.relative[k];
    return share === null || share === undefined ? [] : [{ at, share }];
  });
  if (bins.length === 0) return [];
  return along.flatMap((segment, i) => {
    const newer = along.slice(i + 1).map(({ attempt }) => attempt.first_step);
    const end = Math.min(segment.attempt.last_step + 1, ...newer); // bins follow the timeline
    const own = bins.filter(({ at }) => at >= segment.attempt.first_step && at < end);
    return end > segment.attempt.first_step ? [areaPath(segment, own.length ? own : [nearestBin(bins, segment)])] : [];
  });
}

/** A short attempt has no bin of its own: its neighbour's says about as much. @param {{ at: number, share: number }[]} bins @param {Stretch} one */
const nearestBin = (bins, { attempt }) =>
  bins.reduce((best, bin) =>
    Math.abs(bin.at - attempt.first_step) < Math.abs(best.at - attempt.first_step) ? bin : best,
  );

/** @param {Stretch} segment @param {{ at: number, share: number }[]} bins */
function areaPath(segment, bins) {
  const levelY = (/** @type {number} */ share) => round(94 - 82 * share);
  const points = bins.map(
    ({ at, share }) => `${round(positionOfStep([segment], at, segment.attempt.number) * WIDTH)} ${levelY(share)}`,
  );
  const first = `${round(segment.from * WIDTH)} ${levelY(bins[0].share)}`;
  const last = `${round(segment.lost * WIDTH)} ${levelY(bins[bins.length - 1].share)}`;
  return `M${round(segment.from * WIDTH)} 94L${[first, ...points, last].join("L")}L${round(segment.lost * WIDTH)} 94Z`;
}

/** @param {number} x */
const round = (x) => Math.round(10 * x) / 10;

/**
 * The strip as a control: shows the window that the charts show, takes clicks and drags.
 * @param {{ onPick: (range: [number, number] | null) => void }} options null: the whole run
 */
export function stripControl({ onPick }) {
  const pane = h("div", { class: "strip-pane" });
  const selection = h("div", { class: "strip-window", hidden: true });
  const labels = h("div", { class: "strip-labels", "aria-hidden": "true" });
  const element = h(
    "div",
    { class: "strip strip-large", title: "Drag to go there, double-click for the whole run" },
    labels,
    h("div", { class: "strip-frame" }, pane, selection),
  );
  /** @type {Stretch[]} */
  let along = [];
  let dragStart = NaN;
  const label = () => labels.replaceChildren(...attemptLabels(along, pane.clientWidth));
  new ResizeObserver(label).observe(pane);

  const pointerPosition = (/** @type {PointerEvent} */ event) => {
    const box = pane.getBoundingClientRect();
    return Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
  };
  const showWindow = (/** @type {number} */ from, /** @type {number} */ to) => {
    selection.hidden = false;
    selection.style.left = `${100 * from}%`;
    selection.style.width = `${100 * (to - from)}%`;
  };
  pane.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    dragStart = pointerPosition(event);
    pane.setPointerCapture(event.pointerId);
  });
  pane.addEventListener("pointermove", (event) => {
    if (!Number.isNaN(dragStart)) showWindow(Math.min(dragStart, pointerPosition(event)), Math.max(dragStart, pointerPosition(event)));
  });
  pane.addEventListener("pointerup", (event) => {
    if (Number.isNaN(dragStart)) return;
    const end = pointerPosition(event);
    const dragged = Math.abs(end - dragStart) > 0.005;
    const [from, to] = dragged
      ? [Math.min(dragStart, end), Math.max(dragStart, end)]
      : [Math.max(0, end - 0.05), Math.min(1, end + 0.05)];
    dragStart = NaN;
    const steps = stepsBetween(along, from, to);
    if (steps && steps[1] > steps[0]) onPick(steps);
  });
  pane.addEventListener("pointercancel", () => (dragStart = NaN));
  pane.addEventListener("dblclick", () => onPick(null));

  return {
    element,
    /** @param {HealthStrip} strip @param {[number, number] | null} range the steps the charts show */
    show(strip, range) {
      along = layOutAttempts(strip);
      pane.replaceChildren(drawStrip(strip));
      label();
      selection.hidden = range === null;
      if (range)
        showWindow(positionOfStep(along, range[0]), Math.max(positionOfStep(along, range[0]) + 0.002, positionOfStep(along, range[1])));
    },
  };
}

/** Attempt numbers over their beginnings, left out where they would touch. @param {Stretch[]} along @param {number} width in pixels */
function attemptLabels(along, width) {
  if (along.length < 2) return [];
  let nextFree = 0;
  return along.flatMap(({ attempt, from }, i) => {
    const text = i === 0 ? `attempt ${attempt.number}` : String(attempt.number);
    const labelWidth = LETTER_WIDTH * text.length;
    const left = from * width;
    if (left < nextFree || left + labelWidth > width) return [];
    nextFree = left + labelWidth + LABEL_GAP;
    return [h("span", { style: { left: `${100 * from}%` } }, text)];
  });
}
