// @ts-check
/** Curves, marks, bands and ticks as the plotting library wants them. Pure: data in, plain objects out. */

import { along, bandPlaces, lowerBound, milliseconds, placesOf, smooth } from "./curves.js";
import { numeric } from "./format.js";

/** @typedef {import("./types.js").ChartSeries} ChartSeries */
/** @typedef {import("./types.js").Segment} Segment */
/** @typedef {import("./types.js").Incident} Incident */
/** @typedef {import("./curves.js").Axis} Axis */
/** @typedef {Record<string, string>} Palette colours by the names of tokens.css, without the dashes */

/**
 * @typedef {{ series: ChartSeries[], axis: Axis, log: boolean, smoothing: number, palette: Palette,
 *   range: [number, number] | null, y: { low: number, high: number } | null,
 *   attempts: { number: number, first_step: number, last_step: number }[],
 *   incidents: Incident[], quietIncidents: Incident[], selected: Incident | null,
 *   focus: string | null, role: string, fontSize: number }} Picture
 */

export const MARGIN = { l: 58, r: 14, t: 6, b: 26 };
export const COLOURED = 8; // more curves than hues: the rest is grey, the one in focus is not
const FEW = 70; // points: each is drawn as a dot

/** The colour of each series. @param {Picture} picture @returns {string[]} */
export function colours({ series, palette, focus }) {
  const many = series.length > COLOURED;
  return series.map((one, i) => {
    if (focus !== null && labelText(one) === focus) return palette.accent;
    return many ? palette["series-rest"] : palette[`series-${i + 1}`];
  });
}

/** @param {{ metric: string, labels: Record<string, unknown> }} series */
export const labelText = (series) => `${series.metric} ${JSON.stringify(series.labels ?? {})}`;

/**
 * The traces of a chart: one per attempt's segment, so that no line joins across a rollback.
 * @param {Picture} picture @returns {Record<string, any>[]}
 */
export function traces(picture) {
  const paint = colours(picture);
  const many = picture.series.length > COLOURED;
  const order = picture.series
    .map((_, i) => i)
    .sort((a, b) => Number(isFocus(picture, a)) - Number(isFocus(picture, b)));
  const curves = order.flatMap((i) => {
    const one = picture.series[i];
    const colour = paint[i];
    return one.segments.flatMap((segment, k) => {
      if (segment.ghost) return [ghostTrace(picture, one, k)];
      return curveTraces(picture, one, segment, colour, many && !isFocus(picture, i));
    });
  });
  return [...curves, ...nonfiniteTraces(picture), ...peakTraces(picture)];
}

/** @param {Picture} picture @param {number} i */
const isFocus = (picture, i) => picture.focus !== null && labelText(picture.series[i]) === picture.focus;

/** @param {Picture} picture @param {ChartSeries} one @param {Segment} segment @param {string} colour @param {boolean} faint */
function curveTraces(picture, one, segment, colour, faint) {
  const { axis, smoothing } = picture;
  const reduced = segment.band !== null && segment.band.step.length > 1;
  const xs = reduced ? bandPlaces(segment, axis) : placesOf(segment, axis);
  const values = reduced ? /** @type {import("./types.js").Band} */ (segment.band).mean : segment.value;
  const few = !reduced && one.count <= FEW;
  const name = `${labelText(one)} attempt ${segment.attempt}`;
  const width = faint ? 0.8 : 1.6;
  const parts = [];
  const gaps = reduced ? [] : gapsOf(one, segment);
  /** @param {number[]} y @param {Parameters<typeof line>[2]} look */
  const drawn = (y, look) => line(...broken(xs, y, gaps), look);
  if (reduced && !faint) parts.push(bandTrace(segment, axis, colour, name));
  if (smoothing > 0 && !faint) {
    parts.push(drawn(values, { colour, width: 1, opacity: reduced ? 0.25 : 0.3, name: `${name} raw` }));
    parts.push(drawn(smooth(values, smoothing), { colour, width: 1.8, name: `${name} smoothed` }));
  } else {
    const thickness = reduced || few ? width : Math.min(width, 1.2);
    parts.push(drawn(values, { colour, width: thickness, opacity: faint ? 0.55 : 1, name, dots: few }));
  }
  return parts;
}

/** After which of its points a segment was interrupted by values that are no numbers. @param {ChartSeries} one @param {Segment} segment */
function gapsOf(one, segment) {
  const own = one.nonfinite.filter((mark) => mark.attempt === segment.attempt);
  const after = own.map((mark) => lowerBound(segment.step, mark.step) - 1);
  return [...new Set(after)].filter((k) => k >= 0 && k < segment.step.length - 1).sort((a, b) => b - a);
}

/**
 * A line is broken where a value is no number: nothing is drawn through it.
 * @param {number[]} x @param {number[]} y @param {number[]} gaps after which points, the last first
 * @returns {[(number | null)[], (number | null)[]]}
 */
function broken(x, y, gaps) {
  /** @type {[(number | null)[], (number | null)[]]} */
  const [xs, ys] = [[...x], [...y]];
  for (const k of gaps) {
    xs.splice(k + 1, 0, xs[k]);
    ys.splice(k + 1, 0, null);
  }
  return [xs, ys];
}

/** @param {(number | null)[]} x @param {(number | null)[]} y @param {{ colour: string, width: number, opacity?: number, name: string, dash?: string, dots?: boolean }} look */
function line(x, y, { colour, width, opacity = 1, name, dash = "solid", dots = false }) {
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

/** The envelope of a reduced curve: no extreme is out of sight. @param {Segment} segment @param {Axis} axis @param {string} colour @param {string} name */
function bandTrace(segment, axis, colour, name) {
  const { minimum, maximum } = /** @type {import("./types.js").Band} */ (segment.band);
  const xs = bandPlaces(segment, axis);
  return {
    type: "scatter",
    mode: "lines",
    x: [...xs, ...[...xs].reverse()],
    y: [...maximum, ...[...minimum].reverse()],
    fill: "toself",
    fillcolor: fade(colour, 0.2),
    line: { color: fade(colour, 0.45), width: 0.7, simplify: false },
    hoverinfo: "skip",
    showlegend: false,
    name: `${name} band`,
  };
}

/**
 * A superseded branch: thin, dashed, quiet. It begins at the last point it shares with its own attempt.
 * @param {Picture} picture @param {ChartSeries} one @param {number} k which segment
 */
function ghostTrace({ axis, palette }, one, k) {
  const segment = one.segments[k];
  const before = one.segments[k - 1];
  const reduced = segment.band !== null && segment.band.step.length > 1;
  let x = reduced ? bandPlaces(segment, axis) : placesOf(segment, axis);
  let y = reduced ? /** @type {import("./types.js").Band} */ (segment.band).mean : segment.value;
  if (before && !before.ghost && before.attempt === segment.attempt && before.step.length > 0) {
    x = [/** @type {number} */ (placesOf(before, axis).at(-1)), ...x];
    y = [/** @type {number} */ (before.band?.mean.at(-1) ?? before.value.at(-1)), ...y];
  }
  const name = `${labelText(one)} attempt ${segment.attempt} superseded`;
  return line(x, y, { colour: palette.ghost, width: 1, dash: "3px,2px", opacity: 0.85, name });
}

/** Values that are no numbers, at their step: NaN on the axis, infinities as arrows at the edge. @param {Picture} picture */
function nonfiniteTraces({ series, axis, palette }) {
  const marks = series.flatMap((one) =>
    one.nonfinite.map((mark) => ({ ...mark, x: placeOfStep(one, axis, mark) })),
  );
  if (marks.length === 0) return [];
  const kind = (/** @type {unknown} */ value) =>
    value === "Infinity" ? "up" : value === "-Infinity" ? "down" : "nan";
  const symbols = { up: "triangle-up", down: "triangle-down", nan: "x-thin" };
  return [
    {
      type: "scatter",
      mode: "markers",
      yaxis: "y2",
      hoverinfo: "skip",
      showlegend: false,
      cliponaxis: false,
      name: "not finite",
      x: marks.map((mark) => mark.x),
      y: marks.map((mark) => (kind(mark.value) === "up" ? 1 : 0)),
      marker: {
        symbol: marks.map((mark) => symbols[kind(mark.value)]),
        size: marks.map((mark) => (kind(mark.value) === "nan" ? 6 : 9)),
        color: palette["mark-critical"],
        line: { width: 1.5, color: palette["mark-critical"] },
      },
    },
  ];
}

/** Where a mark without a curve point lies: at its step, or at the time of its neighbours. @param {ChartSeries} one @param {Axis} axis @param {{ attempt: number, step: number }} mark */
function placeOfStep(one, axis, { attempt, step }) {
  if (axis === "step") return step;
  const own = one.segments.filter((segment) => segment.attempt === attempt && segment.step.length > 0);
  const near = own.map((segment) => {
    const k = segment.step.findIndex((at) => at >= step);
    return milliseconds(numeric(k < 0 ? segment.time.at(-1) : segment.time[k]));
  });
  return near.length ? Math.max(...near) : NaN;
}

/** A dot where an incident was at its worst. @param {Picture} picture */
function peakTraces({ series, incidents, axis, palette }) {
  const dots = incidents.flatMap((incident) => {
    const one = series.find((candidate) => belongs(incident, candidate));
    const peak = incident.peak_step;
    if (!one || peak === null) return [];
    const own = one.segments.filter((segment) => segment.attempt === incident.attempt);
    const colour = palette[`mark-${incident.severity}`];
    for (const segment of own) {
      const k = segment.step.indexOf(peak);
      if (k >= 0) return [{ x: placesOf(segment, axis)[k], y: segment.value[k], colour }];
    }
    const said = incident.evidence?.peak; // where the curve is reduced, the very point may not be at hand
    const holding = own.find(
      (one) => one.step.length > 0 && one.step[0] <= peak && peak <= one.step[one.step.length - 1],
    );
    if (typeof said === "number" && holding)
      return [{ x: along(holding.step, placesOf(holding, axis), peak), y: said, colour }];
    return [];
  });
  if (dots.length === 0) return [];
  return [
    {
      type: "scatter",
      mode: "markers",
      x: dots.map((dot) => dot.x),
      y: dots.map((dot) => dot.y),
      hoverinfo: "skip",
      showlegend: false,
      name: "peaks",
      marker: {
        size: 8,
        color: dots.map((dot) => dot.colour),
        line: { width: 1.5, color: palette["paper-raised"] },
      },
    },
  ];
}

/** Does an incident speak of this series? @param {Incident} incident @param {{ metric: string, labels: Record<string, unknown> }} series */
export function belongs(incident, series) {
  if (incident.metric !== series.metric) return false;
  return Object.entries(incident.labels ?? {}).every(
    ([name, value]) => String(series.labels?.[name]) === String(value),
  );
}

/** @param {{ metric: string, labels: Record<string, unknown> }} a @param {{ metric: string, labels: Record<string, unknown> }} b */
export function sameSeries(a, b) {
  const [mine, theirs] = [a, b].map((one) =>
    Object.entries(one.labels ?? {})
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
