// @ts-check
/** The Plotly traces of a chart: curves, bands, marks of non-finite values, peaks of incidents. Pure. */

import { axisPositions, bandPositions, interpolate, lowerBound, milliseconds, smooth } from "./curves.js";
import { resumeTraces } from "./resume_markers.js";
import { numeric } from "../lib/format.js";

/** @typedef {import("../lib/api_types.js").ChartCurve} ChartCurve */
/** @typedef {import("../lib/api_types.js").ChartSegment} ChartSegment */
/** @typedef {import("../lib/api_types.js").IncidentView} IncidentView */
/** @typedef {import("./curves.js").Axis} Axis */
/** @typedef {Record<string, string>} Palette colours by their names in tokens.css, without the leading dashes */

/**
 * @typedef {{ series: ChartCurve[], axis: Axis, log: boolean, smoothing: number, palette: Palette,
 *   range: [number, number] | null, width: number, y: { low: number, high: number } | null,
 *   attempts: { number: number, first_step: number, last_step: number, first_time?: number | null }[],
 *   incidents: IncidentView[], otherIncidents: IncidentView[], selected: IncidentView | null,
 *   expected: import("../lib/api_types.js").PlannedEventView[],
 *   focus: string | null, role: string, fontSize: number }} Picture `width`: of the plot, in pixels
 */

export const MARGIN = { l: 58, r: 14, t: 6, b: 26 };
export const COLOURED = 8; // series drawn in colour; of more than these all but the highlighted one are grey
const MAX_DOTS = 70; // points: a curve with fewer is drawn with a dot at each

/** The colour of each series. @param {Picture} picture @returns {string[]} */
export function colours({ series, palette, focus }) {
  const many = series.length > COLOURED;
  return series.map((curve, i) => {
    if (focus !== null && labelText(curve) === focus) return palette.accent;
    return many ? palette["series-rest"] : palette[`series-${i + 1}`];
  });
}

/** @param {{ metric: string, labels: Record<string, unknown> }} series */
export const labelText = (series) => `${series.metric} ${JSON.stringify(series.labels ?? {})}`;

/**
 * The traces of a chart. Attempts with the same style share a trace with gaps between them, so that no line
 * crosses a rollback and hundreds of attempts are as fast as one. Pure.
 * @param {Picture} picture @returns {Record<string, any>[]}
 */
export function traces(picture) {
  const lineColours = colours(picture);
  const many = picture.series.length > COLOURED;
  const foreground = picture.series.filter((series) => !many || isFocus(picture, series));
  const background = picture.series.filter((series) => !foreground.includes(series));
  return [
    ...backgroundTraces(picture, background),
    ...foreground.flatMap((series) =>
      seriesTraces(picture, series, lineColours[picture.series.indexOf(series)]),
    ),
    ...nonfiniteTraces(picture),
    ...peakTraces(picture),
    ...resumeTraces(picture),
  ];
}

/** @param {Picture} picture @param {ChartCurve} series */
const isFocus = ({ focus }, series) => focus !== null && labelText(series) === focus;

/**
 * A piece of a curve; null is a gap.
 * @typedef {{ x: (number | null)[], y: (number | null)[] }} Polyline
 */

/** Pieces joined with a gap between them. Pure. @param {Polyline[]} pieces @returns {Polyline} */
export function joinWithGaps(pieces) {
  const gap = (/** @type {(number | null)[][]} */ parts) =>
    parts.flatMap((part, i) => (i === 0 ? part : [null, ...part]));
  return { x: gap(pieces.map((segment) => segment.x)), y: gap(pieces.map((segment) => segment.y)) };
}

/** @param {ChartSegment} segment */
const isReduced = (segment) => segment.band !== null && segment.band.step.length > 1;

/** The line of a segment: its points, or the means of its buckets if it is reduced. @param {ChartSegment} segment @param {Axis} axis @returns {{ x: number[], y: number[] }} */
function lineOf(segment, axis) {
  const { band } = segment;
  if (band !== null && band.step.length > 1) return { x: bandPositions(segment, axis), y: band.mean };
  return { x: axisPositions(segment, axis), y: segment.value };
}

/** @param {Picture} picture @param {ChartCurve} series @param {string} colour @returns {Record<string, any>[]} */
function seriesTraces({ axis, smoothing, palette }, series, colour) {
  const name = labelText(series);
  const live = series.segments.filter((segment) => !segment.ghost && segment.step.length > 0);
  const reduced = live.some(isReduced);
  const few = !reduced && series.count <= MAX_DOTS;
  const raw = live.map((segment) => splitAtGaps(lineOf(segment, axis), gapsOf(series, segment)));
  const smoothed = live.map((segment) => {
    const { x, y } = lineOf(segment, axis);
    return splitAtGaps({ x, y: smooth(y, smoothing) }, gapsOf(series, segment));
  });
  const quiet = { colour, width: 1, opacity: reduced ? 0.25 : 0.3, name: `${name} raw` };
  const plain = { colour, width: reduced || few ? 1.6 : 1.2, name, dots: few };
  const drawn = [
    bandTrace(live.filter(isReduced), axis, colour, `${name} band`),
    ghostTrace(series, axis, palette.ghost, `${name} superseded`),
    line(joinWithGaps(raw), smoothing > 0 ? quiet : plain),
    smoothing > 0 && line(joinWithGaps(smoothed), { colour, width: 1.8, name: `${name} smoothed` }),
    !few && singlePointTrace(live, axis, colour, `${name} alone`),
  ];
  return drawn.flatMap((trace) => (trace ? [trace] : []));
}

/** Curves in the background as one trace, since a thousand traces are slow. @param {Picture} picture @param {ChartCurve[]} background */
function backgroundTraces({ axis, palette }, background) {
  const live = background.flatMap((series) => series.segments.filter((segment) => !segment.ghost));
  if (live.length === 0) return [];
  const style = { colour: palette["series-rest"], width: 0.8, opacity: 0.55, name: "other series" };
  return [line(joinWithGaps(live.map((segment) => lineOf(segment, axis))), style)];
}

/** The indices of points of a segment that a non-finite value follows. @param {ChartCurve} series @param {ChartSegment} segment */
function gapsOf(series, segment) {
  if (isReduced(segment)) return [];
  const marks = series.nonfinite.filter((mark) => mark.attempt === segment.attempt);
  const after = marks.map((mark) => lowerBound(segment.step, mark.step) - 1);
  return [...new Set(after)].filter((k) => k >= 0 && k < segment.step.length - 1).sort((a, b) => b - a);
}

/**
 * A line with gaps at non-finite values.
 * @param {{ x: number[], y: number[] }} piece @param {number[]} gaps indices of the points before a gap, descending
 * @returns {Polyline}
 */
function splitAtGaps({ x, y }, gaps) {
  /** @type {Polyline} */
  const cut = { x: [...x], y: [...y] };
  for (const k of gaps) {
    cut.x.splice(k + 1, 0, null);
    cut.y.splice(k + 1, 0, null);
  }
  return cut;
}

/** @param {Polyline} piece @param {{ colour: string, width: number, opacity?: number, name: string, dash?: string, dots?: boolean }} style */
function line({ x, y }, { colour, width, opacity = 1, name, dash = "solid", dots = false }) {
  return {
    type: "scatter",
    mode: dots ? "lines+markers" : "lines",
    x,
    y,
    name,
    opacity,
    hoverinfo: "skip",
    showlegend: false,
    line: { color: colour, width, dash, simplify: true },
    marker: { color: colour, size: x.length > 25 ? 3.5 : 5 },
  };
}

/** The min-max bands of reduced curves, so that every extreme is visible. @param {ChartSegment[]} segments @param {Axis} axis @param {string} colour @param {string} name */
function bandTrace(segments, axis, colour, name) {
  if (segments.length === 0) return null;
  const outlines = segments.map((segment) => {
    const { minimum, maximum } = /** @type {import("../lib/api_types.js").ChartBand} */ (segment.band);
    const xs = bandPositions(segment, axis);
    return { x: [...xs, ...[...xs].reverse()], y: [...maximum, ...[...minimum].reverse()] };
  });
  return {
    type: "scatter",
    mode: "lines",
    ...joinWithGaps(outlines),
    fill: "toself",
    fillcolor: fade(colour, 0.2),
    line: { color: fade(colour, 0.45), width: 0.7, simplify: false },
    hoverinfo: "skip",
    showlegend: false,
    name,
  };
}

/** Dots for attempts with a single point, which have no line. @param {ChartSegment[]} segments @param {Axis} axis @param {string} colour @param {string} name */
function singlePointTrace(segments, axis, colour, name) {
  const alone = segments.filter((segment) => segment.step.length === 1);
  if (alone.length === 0) return null;
  return {
    ...dots(
      alone.flatMap((segment) => axisPositions(segment, axis)),
      alone.flatMap((segment) => segment.value),
    ),
    name,
    marker: { color: colour, size: 4 },
  };
}

/** Markers without a line. @param {number[]} x @param {number[]} y */
const dots = (x, y) => ({ type: "scatter", mode: "markers", x, y, hoverinfo: "skip", showlegend: false });

/**
 * Superseded branches: thin and dashed. Each begins at the last point that it shares with its own attempt.
 * @param {ChartCurve} curve @param {Axis} axis @param {string} colour @param {string} name
 */
function ghostTrace({ segments }, axis, colour, name) {
  const branches = segments.flatMap((segment, k) => {
    if (!segment.ghost) return [];
    const { x, y } = lineOf(segment, axis);
    const before = segments[k - 1];
    if (!before || before.ghost || before.attempt !== segment.attempt || before.step.length === 0)
      return [{ x, y }];
    const shared = lineOf(before, axis);
    return [{ x: [shared.x[shared.x.length - 1], ...x], y: [shared.y[shared.y.length - 1], ...y] }];
  });
  if (branches.length === 0) return null;
  return line(joinWithGaps(branches), { colour, width: 1, dash: "3px,2px", opacity: 0.85, name });
}

/** Non-finite values at their step: NaN as crosses on the axis, infinities as arrows at the edge. @param {Picture} picture */
function nonfiniteTraces({ series, axis, palette }) {
  const marks = series.flatMap((curve) =>
    curve.nonfinite.map((mark) => ({ ...mark, x: markPosition(curve, axis, mark) })),
  );
  if (marks.length === 0) return [];
  const kind = (/** @type {unknown} */ value) =>
    value === "Infinity" ? "up" : value === "-Infinity" ? "down" : "nan";
  const symbols = { up: "triangle-up", down: "triangle-down", nan: "x-thin" };
  return [
    {
      ...dots(
        marks.map((mark) => mark.x),
        marks.map((mark) => (kind(mark.value) === "up" ? 1 : 0)),
      ),
      yaxis: "y2",
      cliponaxis: false,
      name: "not finite",
      marker: {
        symbol: marks.map((mark) => symbols[kind(mark.value)]),
        size: marks.map((mark) => (kind(mark.value) === "nan" ? 6 : 9)),
        color: palette["mark-critical"],
        line: { width: 1.5, color: palette["mark-critical"] },
      },
    },
  ];
}

/** The x position of a non-finite value: its step, or the time of the next point. @param {ChartCurve} series @param {Axis} axis @param {{ attempt: number, step: number }} mark */
function markPosition(series, axis, { attempt, step }) {
  if (axis === "step") return step;
  const ownSegments = series.segments.filter(
    (segment) => segment.attempt === attempt && segment.step.length > 0,
  );
  const near = ownSegments.map((segment) => {
    const k = segment.step.findIndex((candidate) => candidate >= step);
    return milliseconds(numeric(k < 0 ? segment.time.at(-1) : segment.time[k]));
  });
  return near.length ? Math.max(...near) : NaN;
}

/** A dot at the peak of each incident. @param {Picture} picture */
function peakTraces({ series, incidents, axis, palette }) {
  const peaks = incidents.flatMap((incident) => {
    const curve = series.find((candidate) => concernsSeries(incident, candidate));
    const peak = incident.peak_step;
    if (!curve || peak === null) return [];
    const ownSegments = curve.segments.filter((segment) => segment.attempt === incident.attempt);
    const colour = palette[`mark-${incident.severity}`];
    for (const segment of ownSegments) {
      const k = segment.step.indexOf(peak);
      if (k >= 0) return [{ x: axisPositions(segment, axis)[k], y: segment.value[k], colour }];
    }
    const reportedPeak = incident.evidence?.peak; // a reduced curve may not contain the peak itself
    const containing = ownSegments.find(
      (segment) =>
        segment.step.length > 0 && segment.step[0] <= peak && peak <= segment.step[segment.step.length - 1],
    );
    if (typeof reportedPeak === "number" && containing)
      return [
        { x: interpolate(containing.step, axisPositions(containing, axis), peak), y: reportedPeak, colour },
      ];
    return [];
  });
  if (peaks.length === 0) return [];
  return [
    {
      ...dots(
        peaks.map((peak) => peak.x),
        peaks.map((peak) => peak.y),
      ),
      name: "peaks",
      marker: {
        size: 8,
        color: peaks.map((peak) => peak.colour),
        line: { width: 1.5, color: palette["paper-raised"] },
      },
    },
  ];
}

/** Whether an incident concerns a series. @param {IncidentView} incident @param {{ metric: string, labels: Record<string, unknown> }} series */
export function concernsSeries(incident, series) {
  if (incident.metric !== series.metric) return false;
  return Object.entries(incident.labels ?? {}).every(
    ([name, value]) => String(series.labels?.[name]) === String(value),
  );
}

/** @param {{ metric: string, labels: Record<string, unknown> }} a @param {{ metric: string, labels: Record<string, unknown> }} b */
export function sameSeries(a, b) {
  const [mine, theirs] = [a, b].map((series) =>
    Object.entries(series.labels ?? {})
      .map(([name, value]) => `${name}=${value}`)
      .sort()
      .join(),
  );
  return a.metric === b.metric && mine === theirs;
}

/** @param {string} colour "#rrggbb" @param {number} opacity */
export function fade(colour, opacity) {
  const [r, g, b] = [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16));
  return `rgba(${r}, ${g}, ${b}, ${opacity})`;
}
