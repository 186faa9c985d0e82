// @ts-check
/** The Plotly layout of a chart: axes, incident bands, planned events, baseline. Pure. */

import { axisPositions } from "./curves.js";
import { plannedEventShapes } from "./planned_events.js";
import { positionOfStep } from "./resume_markers.js";
import { fade, MARGIN } from "./traces.js";
import { noiseOf } from "../incidents/evidence.js";

/** @typedef {import("./traces.js").Picture} Picture */
/** @typedef {import("../lib/api_types.js").IncidentView} IncidentView */

/**
 * The x positions of an incident's onset and recovery. An open one ends at the end of the axis or of its attempt.
 * @param {Picture} picture @param {IncidentView} incident @returns {[number, number]}
 */
export function extentOf(picture, incident) {
  const from = positionOfStep(picture, incident.start_step, incident.attempt);
  if (incident.end_step !== null) {
    const next = incident.end_step <= incident.start_step ? incident.attempt + 1 : incident.attempt; // a stall that a restart ended
    return [from, Math.max(from, positionOfStep(picture, incident.end_step, next))];
  }
  const ownAttempt = picture.attempts.find((attempt) => attempt.number === incident.attempt);
  const over = ownAttempt && ownAttempt !== picture.attempts.at(-1); // an incident does not continue in the next attempt
  const end = over
    ? positionOfStep(picture, ownAttempt.last_step, ownAttempt.number)
    : (picture.range?.[1] ?? from);
  return [from, over || incident.state === "open" ? Math.max(from, end) : from];
}

/** @param {Picture} picture */
export function layout(picture) {
  const { palette, axis, log, y, role } = picture;
  const range = axisRange(picture);
  const font = { family: "inherit", size: picture.fontSize, color: palette["ink-quiet"] };
  const quiet = {
    gridcolor: palette.grid,
    linecolor: palette["line-strong"],
    zeroline: false,
    tickfont: font,
    fixedrange: true,
  };
  return {
    margin: MARGIN,
    showlegend: false,
    hovermode: false,
    dragmode: matchMedia("(pointer: coarse)").matches ? false : "zoom",
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font,
    separators: ".,",
    autosize: false,
    meta: { xKind: X_KINDS[axis] ?? "value" },
    xaxis: {
      ...quiet,
      fixedrange: false,
      showgrid: false,
      showline: true,
      ticks: "outside",
      ticklen: 3,
      tickcolor: palette["line-strong"],
      nticks: 8,
      dtick: axis === "step" && range && range[1] - range[0] < 8 ? 1 : undefined, // whole steps only
      type: axis === "time" ? "date" : picture.xLog ? "log" : "linear",
      range: range ?? undefined,
      ...(axis === "time" ? { tickformatstops: CLOCK_STOPS } : { tickformat: stepFormat(range) }),
    },
    yaxis: {
      ...quiet,
      showgrid: true,
      separatethousands: true,
      type: log ? "log" : "linear",
      range: y ? [y.low, y.high] : undefined,
      nticks: 6,
      ...(log
        ? { dtick: y && y.high - y.low > 2.5 ? 1 : undefined, exponentformat: "e", minexponent: 3 }
        : valueFormat(role, y)),
    },
    yaxis2: { range: [0, 1], overlaying: "y", visible: false, fixedrange: true },
    shapes: [
      ...plannedEventShapes(picture),
      ...picture.otherIncidents.map((incident) => otherIncidentShape(picture, incident)),
      ...picture.incidents.flatMap((incident) => incidentShapes(picture, incident)),
      ...evidenceShapes(picture),
    ],
  };
}

const X_KINDS = /** @type {Record<string, string>} */ ({ step: "step", time: "clock", relative: "duration" });
const LOG_DECADES = 6; // shown left of the end of a logarithmic x axis that begins at zero

/** The range of the x axis; of its logarithms on a logarithmic one. @param {Picture} picture @returns {[number, number] | null} */
function axisRange({ range, xLog, series, axis }) {
  if (range === null || !xLog) return range;
  const high = Math.log10(Math.max(range[1], Number.MIN_VALUE));
  const positive = series.flatMap((curve) => curve.segments.map((segment) => axisPositions(segment, axis).find((x) => x > 0) ?? Infinity));
  const first = Math.min(...positive);
  const low = range[0] > 0 ? Math.log10(range[0]) : Number.isFinite(first) ? Math.log10(first) : high - LOG_DECADES;
  return [Math.min(low, high - 0.01), high];
}

// tick labels of one line: only the date where ticks are days apart
const CLOCK_STOPS = [
  { dtickrange: [null, 59999], value: "%H:%M:%S" },
  { dtickrange: [60000, 43199999], value: "%H:%M" },
  { dtickrange: [43200000, null], value: "%-d %b" },
];

/** @param {[number, number] | null} range */
function stepFormat(range) {
  const span = range ? range[1] - range[0] : 0;
  return span > 0 && Math.max(Math.abs(range?.[1] ?? 0)) >= 20000 && span >= 5000 ? "~s" : ",d";
}

/** @param {string} role @param {{ high: number } | null} y */
function valueFormat(role, y) {
  const large = y === null || y.high >= 1000; // below 1,000, SI prefixes would be those of small numbers, such as 400m
  if (large && (role === "throughput" || role === "memory")) return { tickformat: "~s" };
  if (role === "learning_rate") return { exponentformat: "e", minexponent: 2 };
  return { exponentformat: "SI", minexponent: 4 };
}

/** @param {Record<string, any>} shape */
const behind = (shape) => ({ layer: "below", xref: "x", yref: "paper", y0: 0, y1: 1, ...shape });

/** @param {Picture} picture @param {IncidentView} incident */
function incidentShapes(picture, incident) {
  const colour = picture.palette[`mark-${incident.severity}`];
  const [from, to] = extentOf(picture, incident);
  const isSelected = picture.selected?.id === incident.id;
  const tint = isSelected ? 0.14 : incident.state === "closed" ? 0.05 : 0.09;
  const shapes = [
    behind({ type: "rect", x0: from, x1: to, fillcolor: fade(colour, tint), line: { width: 0 } }),
    behind({ type: "line", x0: from, x1: from, line: { color: colour, width: isSelected ? 2 : 1.2 } }),
  ];
  if (incident.end_step !== null)
    shapes.push(behind({ type: "line", x0: to, x1: to, line: { color: colour, width: 1.2, dash: "dot" } }));
  return shapes;
}

/**
 * An incident of another chart: a bar along the axis, or a faint band if it is selected.
 * @param {Picture} picture @param {IncidentView} incident
 */
function otherIncidentShape(picture, incident) {
  const [from, to] = extentOf(picture, incident);
  const isSelected = picture.selected?.id === incident.id;
  const fillcolor = fade(picture.palette[`mark-${incident.severity}`], isSelected ? 0.08 : 0.5);
  return behind({ type: "rect", x0: from, x1: to, y1: isSelected ? 1 : 0.02, fillcolor, line: { width: 0 } });
}

/** Baseline and noise of the selected incident. @param {Picture} picture */
function evidenceShapes(picture) {
  const { selected, palette, log } = picture;
  if (!selected || !picture.incidents.some((incident) => incident.id === selected.id)) return [];
  const { baseline } = selected.evidence ?? {};
  if (typeof baseline !== "number" || (log && baseline <= 0)) return [];
  const [from, to] = extentOf(picture, selected);
  const length = Math.max(to - from, 0.08 * ((picture.range?.[1] ?? to) - (picture.range?.[0] ?? from)));
  const span = { xref: "x", yref: "y", layer: "above", x0: from - length / 2, x1: from + length };
  const shapes = [
    {
      ...span,
      type: "line",
      y0: baseline,
      y1: baseline,
      line: { color: palette.ink, width: 1.2, dash: "dash" },
    },
  ];
  const noise = noiseOf(selected);
  if (noise !== null && noise > 0 && (!log || baseline - noise > 0)) {
    shapes.push(
      /** @type {any} */ ({
        ...span,
        type: "rect",
        layer: "below",
        y0: baseline - noise,
        y1: baseline + noise,
        fillcolor: fade(palette.ink, 0.12),
        line: { width: 0 },
      }),
    );
  }
  return shapes;
}
