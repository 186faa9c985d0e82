// @ts-check
/** The Plotly traces of a chart: curves, bands, marks of non-finite values, peaks of incidents. Pure. */

import { axisPositions, bandPositions, interpolate, lowerBound, smooth } from "./curves.js";
import { extremesOf, summarise } from "./many_series.js";
import { resumeTraces } from "./resume_markers.js";

/** @typedef {import("./curves.js").ChartCurve} ChartCurve */
/** @typedef {import("./curves.js").ChartSegment} ChartSegment */
/** @typedef {import("../lib/api_types.js").IncidentView} IncidentView */
/** @typedef {import("./curves.js").Axis} Axis */
/** @typedef {Record<string, string>} Palette colours by their names in tokens.css, without the leading dashes */

/**
 * @typedef {{ series: ChartCurve[], axis: Axis, log: boolean, smoothing: number, palette: Palette,
 *   range: [number, number] | null, width: number, y: { low: number, high: number } | null,
 *   attempts: { number: number, first_step: number, last_step: number, first_time?: number | null, last_time?: number | null }[],
 *   incidents: IncidentView[], otherIncidents: IncidentView[], selected: IncidentView | null,
 *   expected: import("../lib/api_types.js").PlannedEventView[],
 *   focus: string | null, pinned?: string[], xLog?: boolean, xOf?: PositionOf, drawnTo?: number, role: string, fontSize: number }} Picture
 *   `width`: of the plot, in pixels; `drawnTo`: the last x position drawn; `focus`: `labelText` of a series; `pinned`: what `pinKey` returns
 */
/** @typedef {(step: number, attempt: number | undefined) => number} PositionOf the x position of a step */

export const MARGIN = { l: 58, r: 14, t: 6, b: 26 };
export const COLOURED = 8; // series drawn in colour; of more than these the pinned and the unusual ones are
const MAX_DOTS = 70; // points: a curve with fewer is drawn with a dot at each
const MAX_HAIRLINES = 150; // series: of more, median, band and extremes are drawn, and single ones in colour

/**
 * The colour of each series: that of its run on pages with several runs, otherwise by its position; of many series
 * only of the pinned, the unusual and the highlighted ones.
 * @param {Picture} picture @returns {string[]}
 */
export function colours(picture) {
  const { series, palette, focus, pinned = [] } = picture;
  const many = series.length > COLOURED;
  const named = many ? namedSeries(picture) : series;
  return series.map((curve) => {
    if (curve.run) return curve.run.colour;
    const pin = pinned.indexOf(pinKey(curve));
    if (many && focus !== null && labelText(curve) === focus && pin < 0) return palette.accent;
    const i = named.indexOf(curve);
    return i < 0 ? palette["series-rest"] : palette[`series-${(i % COLOURED) + 1}`];
  });
}

/** Of many series: the pinned ones, then the unusual ones, at most as many as there are colours. @param {Picture} picture @returns {ChartCurve[]} */
export function namedSeries({ series, axis, pinned = [] }) {
  if (series.length <= COLOURED) return series;
  const chosen = pinned.flatMap((key) => series.filter((curve) => pinKey(curve) === key));
  const unusual = summarise(series, axis).unusual.filter((curve) => !chosen.includes(curve));
  return [...chosen, ...unusual].slice(0, Math.max(COLOURED, chosen.length));
}

/** @param {{ metric: string, labels: Record<string, unknown>, run?: { id: string } }} series */
export const labelText = (series) =>
  `${series.run ? `${series.run.id} ` : ""}${series.metric} ${JSON.stringify(series.labels ?? {})}`;

/** What is pinned with a series: its labels, so that rank 37 is pinned in all charts; otherwise its run or metric. @param {{ metric: string, labels: Record<string, unknown>, run?: { id: string } }} series */
export function pinKey({ metric, labels, run }) {
  const inside = Object.entries(labels ?? {})
    .map(([name, value]) => `${name}=${value}`)
    .sort()
    .join(",");
  return [run?.id, inside].filter(Boolean).join(" ") || metric;
}

/**
 * The traces of a chart. Attempts with the same style share a trace with gaps between them, so that no line
 * crosses a rollback and hundreds of attempts are as fast as one. Pure.
 * @param {Picture} picture @returns {Record<string, any>[]}
 */
export function traces(picture) {
  const lineColours = colours(picture);
  const many = picture.series.length > COLOURED && !picture.series[0].run;
  const named = namedSeries(picture);
  const foreground = picture.series.filter(
    (series) => !many || named.includes(series) || isFocus(picture, series),
  );
  const background = picture.series.filter((series) => !foreground.includes(series));
  if (picture.series[0]?.run && picture.focus) foreground.sort((a, b) => Number(isFocus(picture, a)) - Number(isFocus(picture, b)));
  return [
    ...(many ? manySeriesTraces(picture, background) : []),
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
function seriesTraces(picture, series, colour) {
  const { axis, smoothing, palette, focus } = picture;
  const name = labelText(series);
  const focused = Boolean(series.run) && isFocus(picture, series);
  const others = Boolean(series.run) && focus !== null && !focused; // other runs recede behind that at the pointer
  const crowded = Boolean(series.run) && picture.series.length > COLOURED && !focused;
  const live = series.segments.filter((segment) => !segment.ghost && segment.step.length > 0);
  const reduced = live.some(isReduced);
  const few = !reduced && series.count <= MAX_DOTS;
  const raw = live.map((segment) => splitAtGaps(lineOf(segment, axis), gapsOf(series, segment)));
  const smoothed = live.map((segment) => {
    const { x, y } = lineOf(segment, axis);
    return splitAtGaps({ x, y: smooth(y, smoothing) }, gapsOf(series, segment));
  });
  const quiet = { colour, width: 1, opacity: reduced ? 0.25 : 0.3, name: `${name} raw` };
  const width = (reduced || few ? 1.6 : 1.2) * (focused ? 1.7 : crowded ? 0.8 : 1);
  const plain = { colour, width, name, dots: few, opacity: others ? 0.35 : 1 };
  const drawn = [
    !crowded && !others && bandTrace(live.filter(isReduced), axis, colour, `${name} band`, series.run && !focused ? 0.5 : 1),
    ghostTrace(series, axis, palette.ghost, `${name} superseded`),
    line(joinWithGaps(raw), smoothing > 0 ? quiet : plain),
    smoothing > 0 && line(joinWithGaps(smoothed), { ...plain, width: width + 0.2, name: `${name} smoothed`, dots: false }),
    !few && singlePointTrace(live, axis, colour, `${name} alone`),
  ];
  return drawn.flatMap((trace) => (trace ? [trace] : []));
}

/** Of many series: the range of the others, the band of most, the median, and each as a hairline unless there are very many. @param {Picture} picture @param {ChartCurve[]} background */
function manySeriesTraces({ axis, palette, series }, background) {
  const colour = palette["series-rest"];
  const summary = summarise(series, axis);
  const { x, low, median, high } = summary;
  const live = background.flatMap((curve) => curve.segments.filter((segment) => !segment.ghost));
  const few = background.length <= MAX_HAIRLINES;
  const style = { colour, width: 0.8, opacity: 0.35, name: "other series" };
  return [
    filled({ x, ...extremesOf(summary, background) }, { fill: fade(colour, 0.14), edge: fade(colour, 0.5) }, "extremes"),
    few && live.length > 0 && line(joinWithGaps(live.map((segment) => lineOf(segment, axis))), style),
    filled({ x, low, high }, { fill: fade(colour, 0.28), edge: fade(colour, 0) }, "10 to 90 %"),
    line({ x, y: median }, { colour: palette["ink-quiet"], width: 1.6, name: "median" }),
  ].filter((trace) => trace !== false);
}

/** A band between two curves. @param {{ x: number[], low: number[], high: number[] }} band @param {{ fill: string, edge: string }} style @param {string} name */
export function filled({ x, low, high }, { fill, edge }, name) {
  return {
    type: "scatter",
    mode: "lines",
    x: [...x, ...[...x].reverse()],
    y: [...high, ...[...low].reverse()],
    fill: "toself",
    fillcolor: fill,
    line: { color: edge, width: 0.7, simplify: false },
    hoverinfo: "skip",
    showlegend: false,
    name,
  };
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

/** The min-max bands of reduced curves, so that every extreme is visible. @param {ChartSegment[]} segments @param {Axis} axis @param {string} colour @param {string} name @param {number} strength of the colours */
function bandTrace(segments, axis, colour, name, strength) {
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
    fillcolor: fade(colour, 0.2 * strength),
    line: { color: fade(colour, strength < 1 ? 0.15 : 0.45), width: 0.7, simplify: false },
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
      name: "NaN or Inf",
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
    const k = Math.min(lowerBound(segment.step, step), segment.step.length - 1);
    return axisPositions(segment, axis)[k];
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
