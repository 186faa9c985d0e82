// @ts-check
/** One chart with its title, values at the crosshair, legend, incident labels and notes. */

import { axisPositions, nearestPoints, nonfiniteRuns, yRange } from "./curves.js";
import { createIncidentLabels } from "./incident_labels.js";
import { createLegend, shortName } from "./legend.js";
import { createPanelHeader } from "./panel_header.js";
import { createChart, scale } from "./plotly.js";
import { COLOURED, concernsSeries, labelText, MARGIN } from "./traces.js";
import { metricUnit } from "../lib/catalogue.js";
import { h, refill } from "../lib/dom.js";
import { clock, count, number, reading, step as stepText } from "../lib/format.js";
import { icon } from "../lib/icons.js";

/** @typedef {import("../lib/api_types.js").ChartCurve} ChartCurve */
/**
 * The series that a chart shows. `series` may name only the first of `series_count`; `added`: by the events.
 * @typedef {{ title: string, role: string, series: { metric: string, labels: Record<string, string | number> }[],
 *   series_count?: number, added?: boolean }} ChartPlan
 */
/** @typedef {import("../lib/api_types.js").IncidentView} IncidentView */
/** @typedef {import("./traces.js").Picture} Picture */

/**
 * The state that all charts of a page share.
 * @typedef {{ axis: import("./curves.js").Axis, range: [number, number] | null, smoothing: number,
 *   modes: import("./view_options.js").Modes, palette: import("./traces.js").Palette,
 *   attempts: Picture["attempts"], incidents: IncidentView[], selected: IncidentView | null,
 *   expected: Picture["expected"] }} Shared
 * @typedef {{ onZoom: (range: [number, number]) => void, onReset: () => void,
 *   onHover: (x: number | null) => void, onMode: (mode: import("./view_options.js").Mode, metric: string) => void,
 *   onRemove?: () => void }} PanelEvents
 */

const FONT = 11; // pixels at the default text size
const EDGE = 4; // pixels next to the plot in which the pointer still sets the crosshair

/** The metric that identifies a chart in the address. @param {ChartPlan} plan */
export const metricOf = (plan) => plan.series[0]?.metric ?? plan.title;

/** What the steps of a chart count if not training steps, as its label `steps` states. Pure. @param {ChartPlan} plan @returns {string | undefined} */
export const ownSteps = (plan) => /** @type {string | undefined} */ (plan.series[0]?.labels?.steps);

/** Whether the steps of a chart are wall times, as those of machine telemetry. Pure. @param {ChartPlan} plan */
export const isTimed = (plan) => ownSteps(plan) === "milliseconds";

/** Axis and range of a chart: time for telemetry; the shared range only where it has the same axis. Pure. @param {ChartPlan} plan @param {Pick<Shared, "axis" | "range">} shared */
export function axisOf(plan, { axis, range }) {
  if (!ownSteps(plan)) return { axis, range };
  if (!isTimed(plan)) return { axis: /** @type {const} */ ("step"), range: null };
  return { axis: /** @type {const} */ ("time"), range: axis === "time" ? range : null };
}

/** Incidents of single ranks or hosts whose series are highlighted: the selected one, then the open ones. Pure. @param {Pick<Shared, "selected" | "incidents">} shared @returns {IncidentView[]} */
export function highlightedIncidents({ selected, incidents }) {
  const open = incidents.filter((incident) => incident.state === "open" && incident.id !== selected?.id);
  return [...(selected ? [selected] : []), ...open].filter(
    (incident) => Object.keys(incident.labels ?? {}).length > 0,
  );
}

/** @param {ChartPlan} plan @param {Shared} shared @param {PanelEvents} events */
export function createPanel(plan, shared, events) {
  const metric = metricOf(plan);
  /** @type {ChartCurve[]} */
  let series = [];
  /** @type {Picture | null} */
  let picture = null;
  /** @type {string | null} the series whose legend entry the pointer is on */
  let hoveredName = null;

  const readout = createReadout(plan);
  const head = createPanelHeader(plan, readout.element, {
    onMode: (mode) => events.onMode(mode, metric),
    onRemove: events.onRemove,
  });
  const legend = createLegend(plan, focus);
  const lane = createIncidentLabels();
  const note = createNote();
  const plot = h("div", { class: "plot" });
  const crosshair = h("div", { class: "crosshair", hidden: true });
  const element = h(
    "section",
    { class: "panel", "aria-label": `Chart of ${plan.title}` },
    head.element,
    legend.element,
    lane.element,
    h("div", { class: "plot-frame" }, plot, crosshair),
    note.element,
  );
  const zoom = (/** @type {[number, number]} */ range) => {
    if (!ownSteps(plan) || (isTimed(plan) && shared.axis === "time")) events.onZoom(range);
  };
  const chart = createChart(plot, { onZoom: zoom, onReset: events.onReset, onFail: note.fail });
  trackPointer(plot, () => picture?.range ?? null, events.onHover);

  function draw() {
    const [log, whole, wide] = /** @type {const} */ (["log", "whole", "wide"]).map((mode) =>
      shared.modes[mode].has(metric),
    );
    element.classList.toggle("panel-wide", wide);
    const y = yRange(series, {
      log,
      whole: whole || plan.role === "learning_rate", // a learning-rate schedule has no outliers
      foot: shared.attempts.length > 1,
    });
    picture = { ...pictureOf(plan, shared, series, hoveredName), log, y, width: plot.clientWidth };
    const thinned = series.reduce((sum, curve) => sum + curve.thinned, 0);
    head.show({ smoothing: shared.smoothing, log, whole, wide, y, thinned });
    lane.show(picture);
    note.show(series);
    hover(null);
    chart.draw(picture);
  }

  /** @param {string | null} name */
  function focus(name) {
    if (series.length <= COLOURED) return;
    hoveredName = name;
    draw();
  }

  /** Move the crosshair to a position and show the values there; null: no crosshair, the latest values. @param {number | null} x */
  function hover(x) {
    if (!picture) return;
    if (picture.axis !== shared.axis || (ownSteps(plan) && !isTimed(plan))) x = null;
    const { range, width } = picture;
    crosshair.hidden = x === null || range === null;
    if (x !== null && range) crosshair.style.transform = `translateX(${scale(range, width).toPixel(x)}px)`;
    readout.show(picture, x);
    legend.show(picture, valueReader(picture, x ?? range?.[1] ?? 0));
  }

  return {
    element,
    plan,
    plot,
    draw,
    hover,
    stale: true,
    visible: false,
    /** @param {ChartCurve[]} curves */
    show(curves) {
      series = curves;
      draw();
    },
    fail: note.fail,
    destroy: () => chart.destroy(),
    toggleLog: () => events.onMode("log", metric),
  };
}

/**
 * The input of one drawing of a chart. Pure except for the text size of the page.
 * @param {ChartPlan} plan @param {Shared} shared @param {ChartCurve[]} series @param {string | null} pointed
 */
function pictureOf(plan, shared, series, pointed) {
  const { smoothing, palette, attempts, incidents, selected, expected } = shared;
  const chartAxis = axisOf(plan, shared);
  const axis = chartAxis.axis;
  const range = rangeOf(chartAxis.range, extent(series, axis), Boolean(ownSteps(plan)));
  const concernsChart = (/** @type {IncidentView} */ incident) =>
    [...plan.series, ...series].some((name) => concernsSeries(incident, name));
  const ownIncidents = incidents.filter(concernsChart);
  const highlighted = highlightedIncidents({ selected, incidents: ownIncidents }).find(concernsChart);
  const highlightedCurve = highlighted && series.find((curve) => concernsSeries(highlighted, curve));
  const textScale = parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;
  return {
    series,
    role: plan.role,
    fontSize: FONT * Math.min(1.3, textScale),
    axis,
    range,
    smoothing,
    palette,
    // attempts and planned events are at training steps
    attempts: ownSteps(plan) ? [] : attempts,
    expected: ownSteps(plan) ? [] : expected,
    incidents: ownIncidents,
    otherIncidents: ownSteps(plan)
      ? []
      : incidents.filter((incident) => !ownIncidents.includes(incident) && incident.severity !== "info"),
    selected,
    focus: pointed ?? (highlightedCurve && series.length > COLOURED ? labelText(highlightedCurve) : null),
  };
}

/**
 * The range that a chart shows: the shared one unless it has none of the chart's points, as with a series
 * that counts epochs or was logged before the first step. Pure.
 * @param {[number, number] | null} shared @param {[number, number] | null} extent from the first point to the last
 * @param {boolean} ownAxis whether its steps are no training steps @returns {[number, number] | null}
 */
export function rangeOf(shared, extent, ownAxis) {
  if (shared === null) return ownAxis ? extent : null;
  if (extent === null || (extent[0] <= shared[1] && extent[1] >= shared[0])) return shared;
  const margin = 0.01 * (extent[1] - extent[0]) || 0.5;
  return [extent[0] - margin, extent[1] + margin];
}

/** The first and last x position of some series; null without points. Pure. @param {ChartCurve[]} series @param {import("./curves.js").Axis} axis @returns {[number, number] | null} */
export function extent(series, axis) {
  const positions = series.flatMap((curve) => curve.segments.map((segment) => axisPositions(segment, axis)));
  const nonEmpty = positions.filter((list) => list.length > 0);
  if (nonEmpty.length === 0) return null;
  return [
    Math.min(...nonEmpty.map((list) => list[0])),
    Math.max(...nonEmpty.map((list) => list[list.length - 1])),
  ];
}

/** @param {HTMLElement} plot @param {() => [number, number] | null} range @param {(x: number | null) => void} onHover */
function trackPointer(plot, range, onHover) {
  plot.addEventListener("pointermove", (event) => {
    const current = range();
    if (!current) return;
    const box = plot.getBoundingClientRect();
    const pixel = event.clientX - box.left;
    const inside = pixel >= MARGIN.l - EDGE && pixel <= box.width - MARGIN.r + EDGE;
    onHover(inside ? scale(current, box.width).toValue(pixel) : null);
  });
  plot.addEventListener("pointerleave", () => onHover(null));
}

/**
 * A function that returns the value of a series at one x position, as text. Pure.
 * @param {Picture} picture @param {number} position @returns {(curve: ChartCurve) => string}
 */
export function valueReader({ axis, role }, position) {
  return (series) => {
    const { live, ghost } = nearestPoints(series, axis, position);
    const hit = live ?? ghost;
    return hit ? reading(role, hit.value) : "–";
  };
}

/** @param {import("./panel.js").ChartPlan} plan */
export function createReadout(plan) {
  const element = h("div", { class: "readout number" });
  const unitText = metricUnit(plan.role, plan.series[0]?.metric ?? "");
  return {
    element,
    /** @param {Picture} picture @param {number | null} x the crosshair's position; null: there is none */
    show(picture, x) {
      const { series, axis, role, range } = picture;
      if (series.length === 0 || range === null)
        return refill(element, series.length ? "" : "no points in this range");
      const { live, ghost } = nearestPoints(series[0], axis, x ?? range[1]);
      const hit = live ?? ghost;
      const byClock = plan.series[0]?.labels?.steps === "milliseconds"; // the steps are wall times
      const location =
        hit &&
        (byClock
          ? [clock(hit.time)]
          : [`step ${stepText(hit.step)}`, x !== null && axis === "time" && clock(hit.time)]);
      const alone = series.length === 1;
      refill(
        element,
        alone &&
          x !== null &&
          ghost &&
          h("span", { class: "readout-ghost" }, `attempt ${ghost.attempt}: ${reading(role, ghost.value)}`),
        h("span", { class: "quiet" }, location ? location.filter(Boolean).join(", ") : ""),
        alone &&
          h("b", {}, hit ? reading(role, hit.value) : "–", unitText ? h("small", {}, ` ${unitText}`) : null),
      );
    },
  };
}

const MAX_LISTED = 6; // runs of non-finite values; the rest is counted

export function createNote() {
  const element = h("p", { class: "panel-note", hidden: true });

  /** @param {string} sign @param {string} text */
  function showText(sign, text) {
    element.hidden = text === "";
    refill(element, icon(sign), h("span", {}, text));
  }
  return {
    element,
    /** @param {string} reason */
    fail: (reason) => showText("warning", reason),
    /** @param {ChartCurve[]} series */
    show: (series) => showText("critical", nonfiniteText(series)),
  };
}

/** Which values are not finite, as text; empty if all are. @param {ChartCurve[]} series */
function nonfiniteText(series) {
  const total = series.reduce((sum, curve) => sum + curve.nonfinite_count, 0);
  if (total === 0) return "";
  const runs = series.flatMap((curve) => {
    const name = series.length > 1 ? `${shortName(curve, series)} ` : "";
    return nonfiniteRuns(curve).map((run) => name + nonfiniteRunText(run));
  });
  const rest = runs.length > MAX_LISTED ? `, and ${runs.length - MAX_LISTED} more ranges` : "";
  return `${count(total, "non-finite value")}: ${runs.slice(0, MAX_LISTED).join("; ")}${rest}`;
}

/** @param {{ value: string, first: number, last: number }} run */
function nonfiniteRunText({ value, first, last }) {
  const steps = first === last ? stepText(first) : `${stepText(first)} to ${stepText(last)}`;
  return `${value === "NaN" ? "NaN" : number(value)} at ${steps}`;
}
