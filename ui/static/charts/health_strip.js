// @ts-check
/**
 * The health strip: all attempts of a run in one row. Attempts are segments, superseded work is hatched,
 * pauses are gaps, incidents are ticks, throughput is a faint area.
 */

import { incidentTitle, severityRank } from "../lib/catalogue.js";
import { h, svg } from "../lib/dom.js";
import { clock, count, step as stepText } from "../lib/format.js";

/** @typedef {import("../lib/api_types.js").HealthStrip} HealthStrip */
/** @typedef {import("../lib/api_types.js").StripAttempt} StripAttempt */
/** @typedef {{ attempt: StripAttempt, from: number, to: number, lost: number }} AttemptSegment one attempt from position `from` to `to`, 0 to 1; superseded from position `lost` on */

const WIDTH = 1000;
const MIN_WIDTH = 0.0015; // share of the width: an attempt that crashed at once stays visible
const LETTER_WIDTH = 6.6; // pixels per character of a label
const LABEL_GAP = 14;
let patterns = 0;

/**
 * Whether the log has times. A log whose points all have the same time has none. Pure.
 * @param {StripAttempt[]} attempts
 */
export function hasTimes(attempts) {
  const times = attempts.flatMap((attempt) => [attempt.first_time, attempt.last_time]);
  return times.every((time) => time !== null) && new Set(times).size > 1;
}

/**
 * The attempts as segments of the strip: by wall time if the log has it, otherwise one after the other by
 * number of steps. Pure.
 * @param {HealthStrip} strip @returns {AttemptSegment[]}
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
 * Position of a step, 0 to 1; without `number` in the newest attempt that has it. Pure.
 * @param {AttemptSegment[]} segments @param {number} step @param {number} [number] the attempt
 */
export function positionOfStep(segments, step, number) {
  const reached = segments.filter(({ attempt: a }) => a.first_step <= step && step <= a.last_step);
  const containing = reached.find(({ attempt }) => attempt.number === number) ?? reached.at(-1);
  if (!containing) {
    const before = segments.filter(({ attempt }) => attempt.last_step < step).at(-1);
    return before ? before.to : (segments[0]?.from ?? 0);
  }
  const { attempt, from, to } = containing;
  return (
    from + ((step - attempt.first_step) / Math.max(1, attempt.last_step - attempt.first_step)) * (to - from)
  );
}

/**
 * The first and last step between two positions, null in a gap. Pure.
 * @param {AttemptSegment[]} segments @param {number} from @param {number} to @returns {[number, number] | null}
 */
export function stepsBetween(segments, from, to) {
  const overlapping = segments.filter((segment) => segment.to >= from && segment.from <= to);
  if (overlapping.length === 0) return null;
  const stepAt = (/** @type {AttemptSegment} */ segment, /** @type {number} */ position) => {
    const share = Math.min(1, Math.max(0, (position - segment.from) / (segment.to - segment.from || 1)));
    return Math.round(
      segment.attempt.first_step + share * (segment.attempt.last_step - segment.attempt.first_step),
    );
  };
  return [
    Math.min(...overlapping.map((segment) => stepAt(segment, from))),
    Math.max(...overlapping.map((segment) => stepAt(segment, to))),
  ];
}

/** A sentence that describes the strip, for screen readers. @param {HealthStrip} strip */
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

/**
 * @param {HealthStrip} strip @param {[number, number]} size about how many pixels it is wide and high, for the hatching
 * @returns {SVGElement}
 */
export function drawStrip(strip, [width, height] = [1000, 56]) {
  const segments = layOutAttempts(strip);
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
        { id: hatch, width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: `scale(${WIDTH / width} ${100 / height}) rotate(45)` },
        svg("rect", { width: 1.6, height: 5, class: "strip-hatch" }),
      ),
    ),
  );
  for (const { attempt, from, to, lost } of segments) {
    picture.append(rect("strip-attempt", from, Math.min(lost, to), 0, 100));
    if (attempt.lost_from_step === null) continue;
    picture.append(rect("strip-lost", lost, to, 0, 100));
    const shade = rect("", lost, to, 0, 100);
    shade.setAttribute("fill", `url(#${hatch})`);
    picture.append(shade);
  }
  for (const d of throughputAreas(strip, segments))
    picture.append(svg("path", { class: "strip-throughput", d }));
  for (const { from, to } of segments) picture.append(rect("strip-base", from, to, 94, 6));
  const bySeverity = [...strip.incidents].sort((a, b) => severityRank(b.severity) - severityRank(a.severity));
  for (const incident of bySeverity) picture.append(...incidentMarks(incident, segments));
  return picture;
}

/** @param {import("../lib/api_types.js").StripIncident} incident @param {AttemptSegment[]} segments */
function incidentMarks(incident, segments) {
  const start = positionOfStep(segments, incident.start_step, incident.attempt);
  const own = segments.find(({ attempt }) => attempt.number === incident.attempt) ?? segments.at(-1);
  const until =
    incident.end_step ?? (incident.state === "open" ? own?.attempt.last_step : incident.start_step);
  const next =
    incident.end_step !== null && incident.end_step <= incident.start_step
      ? (incident.attempt ?? 0) + 1
      : incident.attempt;
  const end = Math.max(start, positionOfStep(segments, until ?? incident.start_step, next));
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

/** One closed path per attempt, so that no line crosses a restart. @param {HealthStrip} strip @param {AttemptSegment[]} segments */
function throughputAreas({ throughput }, segments) {
  const bins = (throughput?.step ?? []).flatMap((step, k) => {
    const share = throughput?.relative[k];
    return share === null || share === undefined ? [] : [{ step, share }];
  });
  if (bins.length === 0) return [];
  return segments.flatMap((segment, i) => {
    const newer = segments.slice(i + 1).map(({ attempt }) => attempt.first_step);
    const end = Math.min(segment.attempt.last_step + 1, ...newer); // bins exclude superseded steps
    const segmentBins = bins.filter(({ step }) => step >= segment.attempt.first_step && step < end);
    return end > segment.attempt.first_step
      ? [areaPath(segment, segmentBins.length ? segmentBins : [nearestBin(bins, segment)])]
      : [];
  });
}

/** The bin nearest to an attempt that is too short to have one of its own. @param {{ step: number, share: number }[]} bins @param {AttemptSegment} one */
const nearestBin = (bins, { attempt }) =>
  bins.reduce((best, bin) =>
    Math.abs(bin.step - attempt.first_step) < Math.abs(best.step - attempt.first_step) ? bin : best,
  );

/** @param {AttemptSegment} segment @param {{ step: number, share: number }[]} bins */
function areaPath(segment, bins) {
  const levelY = (/** @type {number} */ share) => round(94 - 82 * share);
  const points = bins.map(
    ({ step, share }) =>
      `${round(positionOfStep([segment], step, segment.attempt.number) * WIDTH)} ${levelY(share)}`,
  );
  const first = `${round(segment.from * WIDTH)} ${levelY(bins[0].share)}`;
  const last = `${round(segment.lost * WIDTH)} ${levelY(bins[bins.length - 1].share)}`;
  return `M${round(segment.from * WIDTH)} 94L${[first, ...points, last].join("L")}L${round(segment.lost * WIDTH)} 94Z`;
}

/** @param {number} x */
const round = (x) => Math.round(10 * x) / 10;

/**
 * The strip as a control: marks the range that the charts show; a click or a drag selects another.
 * @param {{ onPick: (range: [number, number] | null) => void }} options null: the entire run
 */
export function stripControl({ onPick }) {
  const pane = h("div", { class: "strip-pane" });
  const selection = h("div", { class: "strip-window", hidden: true });
  const labels = h("div", { class: "strip-labels", "aria-hidden": "true" });
  const readout = h("p", { class: "strip-readout quiet number", "aria-hidden": "true" });
  const cursor = h("div", { class: "strip-cursor", hidden: true });
  const element = h(
    "div",
    { class: "strip strip-large" },
    labels,
    h("div", { class: "strip-frame" }, pane, selection, cursor),
    readout,
  );
  /** @type {HealthStrip | null} */
  let shown = null;
  /** @type {AttemptSegment[]} */
  let segments = [];
  let dragStart = NaN;
  const label = () => labels.replaceChildren(...attemptLabels(segments, pane.clientWidth));
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
    const position = pointerPosition(event);
    cursor.hidden = false;
    cursor.style.left = `${100 * position}%`;
    readout.textContent = shown ? positionText(shown, segments, position) : "";
    if (!Number.isNaN(dragStart))
      showWindow(Math.min(dragStart, pointerPosition(event)), Math.max(dragStart, pointerPosition(event)));
  });
  pane.addEventListener("pointerup", (event) => {
    if (Number.isNaN(dragStart)) return;
    const end = pointerPosition(event);
    const dragged = Math.abs(end - dragStart) > 0.005;
    const [from, to] = dragged
      ? [Math.min(dragStart, end), Math.max(dragStart, end)]
      : [Math.max(0, end - 0.05), Math.min(1, end + 0.05)];
    dragStart = NaN;
    const steps = stepsBetween(segments, from, to);
    if (steps && steps[1] > steps[0]) onPick(steps);
  });
  pane.addEventListener("pointerleave", () => {
    cursor.hidden = true;
    readout.textContent = RANGE_HINT;
  });
  pane.addEventListener("pointercancel", () => (dragStart = NaN));
  pane.addEventListener("dblclick", () => onPick(null));

  return {
    element,
    /** @param {HealthStrip} strip @param {[number, number] | null} range the steps the charts show */
    show(strip, range) {
      shown = strip;
      if (cursor.hidden)
        readout.textContent = range ? `Steps ${stepText(range[0])} to ${stepText(range[1])}` : RANGE_HINT;
      segments = layOutAttempts(strip);
      pane.replaceChildren(drawStrip(strip));
      label();
      selection.hidden = range === null;
      if (range)
        showWindow(
          positionOfStep(segments, range[0]),
          Math.max(positionOfStep(segments, range[0]) + 0.002, positionOfStep(segments, range[1])),
        );
    },
  };
}

const RANGE_HINT = "Drag to zoom, double-click to show the entire run";
const NEAR = 0.006; // share of the width within which the pointer is at an incident

/** What the strip shows at a position: step, attempt, time, incidents nearby. Pure. @param {HealthStrip} strip @param {AttemptSegment[]} segments @param {number} position */
export function positionText(strip, segments, position) {
  const segment = segments.findLast(({ from, to }) => from <= position && position <= to);
  if (!segment) return "Nothing was logged";
  const { attempt, from, to, lost } = segment;
  const share = (position - from) / (to - from || 1);
  const step = Math.round(attempt.first_step + share * (attempt.last_step - attempt.first_step));
  const { first_time: first, last_time: last } = attempt;
  const time = first === null || last === null ? "" : clock(first + share * (last - first));
  const near = strip.incidents.filter(
    (incident) => Math.abs(positionOfStep(segments, incident.start_step, incident.attempt) - position) < NEAR,
  );
  return [
    `Step ${stepText(step)}`,
    segments.length > 1 && `attempt ${attempt.number}`,
    time,
    position > lost && "rolled back",
    ...near.map((incident) => incidentTitle(incident)),
  ]
    .filter(Boolean)
    .join(" · ");
}

/** The legend of the strip, folded. */
export function stripLegend() {
  const entries = [
    ["attempt", "Attempt"],
    ["gap", "Nothing logged"],
    ["lost", "Rolled back"],
    ["throughput", "Throughput"],
    ["critical", "Critical"],
    ["warning", "Warning"],
    ["info", "Info"],
  ];
  return h(
    "ul",
    { class: "strip-legend quiet", "aria-label": "Legend of the health strip" },
    entries.map(([name, text]) => h("li", {}, h("i", { class: `strip-key strip-key-${name}` }), text)),
  );
}

/** Attempt numbers above the starts of attempts, left out where they would overlap. @param {AttemptSegment[]} segments @param {number} width in pixels */
function attemptLabels(segments, width) {
  if (segments.length < 2) return [];
  let nextFree = 0;
  return segments.flatMap(({ attempt, from }, i) => {
    const text = i === 0 ? `attempt ${attempt.number}` : String(attempt.number);
    const labelWidth = LETTER_WIDTH * text.length;
    const left = from * width;
    if (left < nextFree || left + labelWidth > width) return [];
    nextFree = left + labelWidth + LABEL_GAP;
    return [h("span", { style: { left: `${100 * from}%` } }, text)];
  });
}
