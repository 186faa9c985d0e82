// @ts-check
/** Draws a figure (traces and layout in Plotly's format) on a surface: axes, shapes, curves, marks. Pure. */

import { clockTicks, durationTicks, logTicks, stepTicks, valueTicks } from "./ticks.js";
import { MARGIN } from "./traces.js";

/** @typedef {import("./surface.js").Surface} Surface */
/** @typedef {import("./surface.js").Box} Box */
/** @typedef {import("./ticks.js").Tick} Tick */
/** @typedef {{ data: Record<string, any>[], layout: Record<string, any> }} Figure */
/** @typedef {{ inner: Box, x: (value: number) => number, y: (value: number) => number, y2: (value: number) => number }} Scales */

const TICK_WIDTH = { value: 70, step: 62, clock: 92, duration: 70 }; // pixels for one label of the x axis
const TICK_HEIGHT = 34; // pixels for one label of the y axis
const DASHES = /** @type {Record<string, number[]>} */ ({ dash: [6, 4], dot: [1.5, 3] });

/**
 * Functions from values to pixels. Values of a logarithmic axis are given as they are.
 * @param {Record<string, any>} layout @param {number} width @param {number} height of the figure @returns {Scales}
 */
export function scales(layout, width, height) {
  const inner = {
    x: MARGIN.l,
    y: MARGIN.t,
    width: Math.max(1, width - MARGIN.l - MARGIN.r),
    height: Math.max(1, height - MARGIN.t - MARGIN.b),
  };
  const place = (/** @type {Record<string, any>} */ axis, /** @type {number} */ from, /** @type {number} */ to) => {
    const [low, high] = axis.range ?? [0, 1];
    const factor = (to - from) / (high - low || 1);
    if (axis.type === "log")
      return (/** @type {number} */ value) => from + ((value > 0 ? Math.log10(value) : NaN) - low) * factor;
    return (/** @type {number} */ value) => from + (value - low) * factor;
  };
  const bottom = inner.y + inner.height;
  return {
    inner,
    x: place(layout.xaxis, inner.x, inner.x + inner.width),
    y: place(layout.yaxis, bottom, inner.y),
    y2: place({ range: [0, 1] }, bottom, inner.y),
  };
}

/** @param {Surface} surface @param {Figure} figure @param {{ width: number, height: number }} size in pixels */
export function drawFigure(surface, { data, layout }, { width, height }) {
  const to = scales(layout, width, height);
  const shapes = layout.shapes ?? [];
  drawGrid(surface, layout, to);
  surface.clip(to.inner, () => {
    for (const shape of shapes) if (shape.layer === "below") drawShape(surface, shape, to);
  });
  surface.clip(to.inner, () => {
    for (const trace of data) if (trace.cliponaxis !== false) drawLines(surface, trace, to);
    for (const shape of shapes) if (shape.layer !== "below") drawShape(surface, shape, to);
  });
  for (const trace of data) if (trace.cliponaxis === false) drawLines(surface, trace, to);
  for (const trace of data) if (trace.mode?.includes("markers")) drawMarkers(surface, trace, to);
  drawXAxis(surface, layout, to);
}

/** @param {Surface} surface @param {Record<string, any>} layout @param {Scales} to */
function drawGrid(surface, { xaxis, yaxis }, { inner, y }) {
  if (!yaxis.range) return;
  const [low, high] = yaxis.range;
  const count = Math.max(2, inner.height / TICK_HEIGHT);
  const isLog = yaxis.type === "log";
  const ticks = isLog ? logTicks(low, high, count) : valueTicks(low, high, count);
  const style = { colour: yaxis.tickfont.color, size: yaxis.tickfont.size, align: /** @type {const} */ ("right") };
  for (const { at, text } of ticks) {
    const top = Math.round(y(isLog ? 10 ** at : at)) + 0.5;
    surface.path([inner.x, inner.x + inner.width], [top, top], { stroke: { colour: yaxis.gridcolor, width: 1 } });
    surface.text(inner.x - 6, top, text, style);
  }
  const bottom = inner.y + inner.height + 0.5;
  surface.path([inner.x, inner.x + inner.width], [bottom, bottom], {
    stroke: { colour: xaxis.linecolor, width: 1 },
  });
}

/** The ticks of the x axis. @param {Record<string, any>} layout @param {number} width of the axis in pixels @returns {Tick[]} */
export function xTicks({ xaxis, meta }, width) {
  if (!xaxis.range) return [];
  const [low, high] = xaxis.range;
  const kind = /** @type {keyof typeof TICK_WIDTH} */ (meta?.xKind ?? "step");
  const count = Math.max(1, width / TICK_WIDTH[kind]);
  if (xaxis.type === "log") return logTicks(low, high, count);
  return { value: valueTicks, step: stepTicks, clock: clockTicks, duration: durationTicks }[kind](low, high, count);
}

/** @param {Surface} surface @param {Record<string, any>} layout @param {Scales} to */
function drawXAxis(surface, layout, { inner, x }) {
  const { xaxis } = layout;
  const bottom = inner.y + inner.height;
  const colour = xaxis.tickfont.color;
  let free = -Infinity; // right end of the previous label
  for (const { at, text } of xTicks(layout, inner.width)) {
    const left = x(xaxis.type === "log" ? 10 ** at : at);
    const half = text.length * xaxis.tickfont.size * 0.29;
    surface.path([left, left], [bottom, bottom + 3], { stroke: { colour: xaxis.tickcolor, width: 1 } });
    const centre = Math.max(half, Math.min(left, inner.x + inner.width + MARGIN.r - half));
    if (centre - half < free + 6) continue;
    surface.text(centre, bottom + 13, text, { colour, size: xaxis.tickfont.size, align: "center" });
    free = centre + half;
  }
}

/** @param {Surface} surface @param {Record<string, any>} shape @param {Scales} to */
function drawShape(surface, shape, { inner, x, y }) {
  const vertical = (/** @type {number} */ value) =>
    shape.yref === "paper" ? inner.y + (1 - value) * inner.height : y(value);
  const [x0, x1] = [x(shape.x0), x(shape.x1)];
  const [y0, y1] = [vertical(shape.y0), vertical(shape.y1)];
  if (![x0, x1, y0, y1].every(Number.isFinite)) return;
  const stroke = shape.line?.width
    ? { colour: shape.line.color, width: shape.line.width, dash: dashes(shape.line.dash) }
    : undefined;
  if (shape.type === "line") return surface.path([x0, x1], [y0, y1], { stroke });
  const box = { x: Math.min(x0, x1), y: Math.min(y0, y1), width: Math.abs(x1 - x0), height: Math.abs(y1 - y0) };
  if (shape.fillcolor) surface.rect({ ...box, width: Math.max(1, box.width) }, shape.fillcolor);
  if (stroke) for (const edge of [x0, x1]) surface.path([edge, edge], [y0, y1], { stroke });
  if (shape.label?.text) drawShapeLabel(surface, shape.label, box);
}

/** @param {Surface} surface @param {Record<string, any>} label @param {Box} box */
function drawShapeLabel(surface, { text, textposition, font }, box) {
  const [row] = textposition.split(" ");
  const tops = /** @type {Record<string, number>} */ ({ middle: box.y + box.height / 2, bottom: box.y + box.height - 9 });
  const top = tops[row] ?? box.y + 9;
  surface.text(box.x + 4, top, text, { colour: font.color, size: font.size });
}

/** @param {string | undefined} dash "solid", "dash", "dot" or lengths such as "3px,2px" @returns {number[]} */
const dashes = (dash) => (dash && dash !== "solid" ? (DASHES[dash] ?? dash.split(",").map(parseFloat)) : []);

/** Values in pixels; gaps and values that the axis cannot show are NaN. @param {ArrayLike<number | null>} values @param {(value: number) => number} place */
function pixels(values, place) {
  const result = new Float64Array(values.length);
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    result[i] = value === null ? NaN : place(value);
  }
  return result;
}

/** Positions of a trace in pixels. @param {Record<string, any>} trace @param {Scales} to @returns {[Float64Array, Float64Array]} */
const positions = (trace, to) => [pixels(trace.x, to.x), pixels(trace.y, trace.yaxis === "y2" ? to.y2 : to.y)];

/** The area, the line or the texts of a trace. @param {Surface} surface @param {Record<string, any>} trace @param {Scales} to */
function drawLines(surface, trace, to) {
  const [x, y] = positions(trace, to);
  if (trace.fill === "toself") {
    const stroke = trace.line.width ? { colour: trace.line.color, width: trace.line.width } : undefined;
    surface.path(x, y, { fill: trace.fillcolor, stroke, closed: true });
    return;
  }
  if (trace.mode.includes("lines")) {
    const { color, width, dash } = trace.line;
    surface.path(x, y, { stroke: { colour: color, width, dash: dashes(dash), opacity: trace.opacity } });
  }
  if (trace.mode === "text") {
    const { color, size } = trace.textfont;
    for (let i = 0; i < x.length; i++) surface.text(x[i], y[i], trace.text[i], { colour: color, size });
  }
}

const EDGE = 0.5; // pixels by which rounding may move a mark out of the axes

/** The marks of a trace. Those at the edge of the axes are complete, those outside are left out. @param {Surface} surface @param {Record<string, any>} trace @param {Scales} to */
function drawMarkers(surface, trace, to) {
  const { symbol, size, color, line } = trace.marker;
  const [x, y] = positions(trace, to);
  const { x: left, y: top, width, height } = to.inner;
  const isInside = (/** @type {number} */ i) =>
    x[i] >= left - EDGE && x[i] <= left + width + EDGE && y[i] >= top - EDGE && y[i] <= top + height + EDGE;
  const of = (/** @type {any} */ value, /** @type {number} */ i) => (Array.isArray(value) ? value[i] : value);
  for (let i = 0; i < x.length; i++) {
    if (Number.isNaN(x[i]) || Number.isNaN(y[i])) continue;
    if (trace.cliponaxis !== false && !isInside(i)) continue;
    const radius = of(size, i) / 2;
    const colour = of(color, i);
    const kind = of(symbol, i) ?? "circle";
    if (kind === "circle")
      surface.circle(x[i], y[i], radius, colour, line && { colour: line.color, width: line.width });
    else drawSymbol(surface, kind, x[i], y[i], radius, colour);
  }
}

/** A cross or an arrow. @param {Surface} surface @param {string} kind @param {number} x @param {number} y @param {number} r @param {string} colour */
function drawSymbol(surface, kind, x, y, r, colour) {
  const stroke = { colour, width: 1.5 };
  if (kind === "x-thin")
    surface.path([x - r, x + r, NaN, x - r, x + r], [y - r, y + r, NaN, y + r, y - r], { stroke });
  else {
    const tip = kind === "triangle-up" ? -r : r;
    surface.path([x - r, x + r, x], [y - tip, y - tip, y + tip], { fill: colour, closed: true });
  }
}
