// @ts-check
/**
 * The health strip: the whole life of a run in one row. Attempts are segments, lost work is hatched,
 * pauses are empty, incidents are ticks, throughput is a faint area.
 */

import { h, svg } from "../lib/dom.js";
import { count, step as stepText } from "../lib/format.js";
import { incidentTitle, severityRank } from "../lib/labels.js";

/** @typedef {import("../lib/types.js").Strip} Strip */
/** @typedef {import("../lib/types.js").AttemptSpan} AttemptSpan */
/** @typedef {{ attempt: AttemptSpan, from: number, to: number, lost: number }} Stretch one attempt; where it lies between 0 and 1, and where its lost work begins */

const WIDTH = 1000;
const LEAST = 0.0015; // of the width: an attempt that crashed at once is still seen
const LETTER = 6.6; // pixels, of a label
const LABELS_APART = 14;
let patterns = 0;

/**
 * Does the log have times? A single moment, as of a log with one stamp, is no clock. Pure.
 * @param {AttemptSpan[]} attempts
 */
export function isClocked(attempts) {
  const times = attempts.flatMap((one) => [one.first_time, one.last_time]);
  return times.every((time) => time !== null) && new Set(times).size > 1;
}

/**
 * Lay the attempts along the life of the run: by the clock where the log has one, else one after the
 * other by steps done. Pure.
 * @param {Strip} strip @returns {Stretch[]}
 */
export function stretches(strip) {
  const attempts = strip.attempts.filter((attempt) => attempt.last_step >= attempt.first_step);
  if (attempts.length === 0) return [];
  const clocked = isClocked(attempts);
  const steps = attempts.map((a) => a.last_step - a.first_step + 1);
  let done = 0;
  const spans = attempts.map((a, i) => {
    if (clocked) return [/** @type {number} */ (a.first_time), /** @type {number} */ (a.last_time)];
    done += steps[i];
    return [done - steps[i], done];
  });
  const begin = Math.min(...spans.map(([from]) => from));
  const whole = Math.max(...spans.map(([, to]) => to)) - begin || 1;
  return attempts.map((attempt, i) => {
    const from = (spans[i][0] - begin) / whole;
    const to = Math.max((spans[i][1] - begin) / whole, Math.min(1, from + LEAST));
    const share =
      attempt.lost_from_step === null ? 1 : (attempt.lost_from_step - attempt.first_step) / steps[i];
    return { attempt, from, to, lost: from + Math.max(0, share) * (to - from) };
  });
}

/**
 * Where a step lies, 0 to 1. Without an attempt: in the newest that reached it, for that is the timeline. Pure.
 * @param {Stretch[]} along @param {number} step @param {number} [number] the attempt
 */
export function placeOf(along, step, number) {
  const reached = along.filter(({ attempt: a }) => a.first_step <= step && step <= a.last_step);
  const found = reached.find(({ attempt }) => attempt.number === number) ?? reached.at(-1);
  if (!found) {
    const before = along.filter(({ attempt }) => attempt.last_step < step).at(-1);
    return before ? before.to : (along[0]?.from ?? 0);
  }
  const { attempt, from, to } = found;
  return (
    from + ((step - attempt.first_step) / Math.max(1, attempt.last_step - attempt.first_step)) * (to - from)
  );
}

/**
 * The steps that were done between two places, null where none were. Pure.
 * @param {Stretch[]} along @param {number} from @param {number} to @returns {[number, number] | null}
 */
export function stepsBetween(along, from, to) {
  const touched = along.filter((one) => one.to >= from && one.from <= to);
  if (touched.length === 0) return null;
  const at = (/** @type {Stretch} */ one, /** @type {number} */ place) => {
    const share = Math.min(1, Math.max(0, (place - one.from) / (one.to - one.from || 1)));
    return Math.round(one.attempt.first_step + share * (one.attempt.last_step - one.attempt.first_step));
  };
  return [Math.min(...touched.map((one) => at(one, from))), Math.max(...touched.map((one) => at(one, to)))];
}

/** What the strip shows, in a sentence. @param {Strip} strip */
export function stripSentence(strip) {
  if (strip.attempts.length === 0) return "No points yet";
  const open = strip.incidents.filter((incident) => incident.state === "open").length;
  const parts = [
    `steps ${stepText(strip.first_step)} to ${stepText(strip.last_step)}`,
    count(strip.attempts.length, "attempt"),
    strip.incidents.length ? `${count(strip.incidents.length, "incident")}, ${open} open` : "no incidents",
  ];
  return parts.join(", ");
}

/** @param {Strip} strip @returns {SVGElement} */
export function drawStrip(strip) {
  const along = stretches(strip);
  const hatch = `hatch-${++patterns}`;
  const picture = svg("svg", {
    class: "strip-picture",
    viewBox: `0 0 ${WIDTH} 100`,
    preserveAspectRatio: "none",
    role: "img",
    "aria-label": stripSentence(strip),
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
  const byWeight = [...strip.incidents].sort((a, b) => severityRank(b.severity) - severityRank(a.severity));
  for (const incident of byWeight) picture.append(...incidentMarks(incident, along));
  return picture;
}

/** @param {import("../lib/types.js").StripIncident} incident @param {Stretch[]} along */
function incidentMarks(incident, along) {
  const start = placeOf(along, incident.start_step, incident.attempt);
  const own = along.find(({ attempt }) => attempt.number === incident.attempt) ?? along.at(-1);
  const until =
    incident.end_step ?? (incident.state === "open" ? own?.attempt.last_step : incident.start_step);
  const next =
    incident.end_step !== null && incident.end_step <= incident.start_step
      ? (incident.attempt ?? 0) + 1
      : incident.attempt;
  const end = Math.max(start, placeOf(along, until ?? incident.start_step, next));
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

/** One closed path per attempt: nothing joins across a restart. @param {Strip} strip @param {Stretch[]} along */
function throughputAreas({ throughput }, along) {
  const bins = (throughput?.step ?? []).flatMap((at, k) => {
    const share = throughput?.relative[k];
    return share === null || share === undefined ? [] : [{ at, share }];
  });
  if (bins.length === 0) return [];
  return along.flatMap((one, i) => {
    const newer = along.slice(i + 1).map(({ attempt }) => attempt.first_step);
    const end = Math.min(one.attempt.last_step + 1, ...newer); // bins follow the timeline
    const own = bins.filter(({ at }) => at >= one.attempt.first_step && at < end);
    return end > one.attempt.first_step ? [areaPath(one, own.length ? own : [nearestBin(bins, one)])] : [];
  });
}

/** A short attempt has no bin of its own: its neighbour's says about as much. @param {{ at: number, share: number }[]} bins @param {Stretch} one */
const nearestBin = (bins, { attempt }) =>
  bins.reduce((best, bin) =>
    Math.abs(bin.at - attempt.first_step) < Math.abs(best.at - attempt.first_step) ? bin : best,
  );

/** @param {Stretch} one @param {{ at: number, share: number }[]} bins */
function areaPath(one, bins) {
  const level = (/** @type {number} */ share) => round(94 - 82 * share);
  const points = bins.map(
    ({ at, share }) => `${round(placeOf([one], at, one.attempt.number) * WIDTH)} ${level(share)}`,
  );
  const first = `${round(one.from * WIDTH)} ${level(bins[0].share)}`;
  const last = `${round(one.lost * WIDTH)} ${level(bins[bins.length - 1].share)}`;
  return `M${round(one.from * WIDTH)} 94L${[first, ...points, last].join("L")}L${round(one.lost * WIDTH)} 94Z`;
}

/** @param {number} x */
const round = (x) => Math.round(10 * x) / 10;

/**
 * The strip as a control: shows the window that the charts show, takes clicks and drags.
 * @param {{ onPick: (range: [number, number] | null) => void }} options null: the whole run
 */
export function stripControl({ onPick }) {
  const pane = h("div", { class: "strip-pane" });
  const pick = h("div", { class: "strip-window", hidden: true });
  const labels = h("div", { class: "strip-labels", "aria-hidden": "true" });
  const element = h(
    "div",
    { class: "strip strip-large", title: "Drag to go there, double-click for the whole run" },
    labels,
    h("div", { class: "strip-frame" }, pane, pick),
  );
  /** @type {Stretch[]} */
  let along = [];
  let began = NaN;
  const label = () => labels.replaceChildren(...attemptLabels(along, pane.clientWidth));
  new ResizeObserver(label).observe(pane);

  const place = (/** @type {PointerEvent} */ event) => {
    const box = pane.getBoundingClientRect();
    return Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
  };
  const mark = (/** @type {number} */ from, /** @type {number} */ to) => {
    pick.hidden = false;
    pick.style.left = `${100 * from}%`;
    pick.style.width = `${100 * (to - from)}%`;
  };
  pane.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    began = place(event);
    pane.setPointerCapture(event.pointerId);
  });
  pane.addEventListener("pointermove", (event) => {
    if (!Number.isNaN(began)) mark(Math.min(began, place(event)), Math.max(began, place(event)));
  });
  pane.addEventListener("pointerup", (event) => {
    if (Number.isNaN(began)) return;
    const here = place(event);
    const dragged = Math.abs(here - began) > 0.005;
    const [from, to] = dragged
      ? [Math.min(began, here), Math.max(began, here)]
      : [Math.max(0, here - 0.05), Math.min(1, here + 0.05)];
    began = NaN;
    const steps = stepsBetween(along, from, to);
    if (steps && steps[1] > steps[0]) onPick(steps);
  });
  pane.addEventListener("pointercancel", () => (began = NaN));
  pane.addEventListener("dblclick", () => onPick(null));

  return {
    element,
    /** @param {Strip} strip @param {[number, number] | null} range the steps the charts show */
    show(strip, range) {
      along = stretches(strip);
      pane.replaceChildren(drawStrip(strip));
      label();
      pick.hidden = range === null;
      if (range)
        mark(placeOf(along, range[0]), Math.max(placeOf(along, range[0]) + 0.002, placeOf(along, range[1])));
    },
  };
}

/** Attempt numbers over their beginnings, left out where they would touch. @param {Stretch[]} along @param {number} width in pixels */
function attemptLabels(along, width) {
  if (along.length < 2) return [];
  let free = 0;
  return along.flatMap(({ attempt, from }, i) => {
    const text = i === 0 ? `attempt ${attempt.number}` : String(attempt.number);
    const size = LETTER * text.length;
    const left = from * width;
    if (left < free || left + size > width) return [];
    free = left + size + LABELS_APART;
    return [h("span", { style: { left: `${100 * from}%` } }, text)];
  });
}
