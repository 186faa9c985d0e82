// @ts-check
/** One chart with its title, values at the crosshair, legend, incident labels, notes and menu. */

import { axisPositions, nearestPoints, yRange } from "./curves.js";
import { createChart } from "./figure.js";
import { chartText } from "./chart_text.js";
import { copyLink, saveCsv, saveInteractive, savePng, saveSvg } from "./files.js";
import { createIncidentLabels } from "./incident_labels.js";
import { createLegend, shortName } from "./legend.js";
import { createNote, createReadout, valueReader } from "./panel_text.js";
import { createPanelHeader } from "./panel_header.js";
import { scale } from "./figure.js";
import { COLOURED, concernsSeries, labelText, pinKey } from "./traces.js";
import { announce, h } from "../lib/dom.js";
import { toast } from "../lib/toasts.js";

/** @typedef {import("./curves.js").ChartCurve} ChartCurve */
/**
 * The series that a chart shows. `series` may name only the first of `series_count`; `added`: by the reader.
 * @typedef {{ title: string, role: string, series: { metric: string, labels: Record<string, string | number> }[],
 *   series_count?: number, added?: boolean, section?: string }} ChartPlan
 */
/** @typedef {import("../lib/api_types.js").IncidentView} IncidentView */
/** @typedef {import("./traces.js").Picture} Picture */

/**
 * The state that all charts of a page share.
 * @typedef {{ axis: import("./curves.js").Axis, range: [number, number] | null, smoothing: number,
 *   modes: import("./view_options.js").Modes, palette: import("./traces.js").Palette,
 *   attempts: Picture["attempts"], incidents: IncidentView[], selected: IncidentView | null,
 *   expected: Picture["expected"], pinned?: string[], xLog?: boolean, xOf?: import("./traces.js").PositionOf,
 *   axisName?: string }} Shared
 * @typedef {{ onZoom: (range: [number, number]) => void, onReset: () => void,
 *   onHover: (x: number | null) => void, onMode: (mode: import("./view_options.js").Mode, metric: string) => void,
 *   onRemove?: () => void, onPin?: (key: string) => void, fetchAll?: () => Promise<ChartCurve[]>,
 *   menu?: () => import("./menu.js").MenuItem[] }} PanelEvents `fetchAll` returns the points of the range in full
 */

const FONT = 11; // pixels at the default text size
const NEAR = 40; // pixels: a line farther from the pointer is not named

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
  /** @type {string | null} the series that the pointer is on, in the plot or in the legend */
  let focused = null;

  const readout = createReadout(plan);
  const head = createPanelHeader(plan, readout.element, {
    onMode: (mode) => events.onMode(mode, metric),
    onRemove: events.onRemove,
    menu,
  });
  const legend = createLegend(plan, { onFocus: focus, onPin: events.onPin });
  const lane = createIncidentLabels();
  const note = createNote();
  const plot = h("div", {
    class: "plot",
    tabindex: 0,
    role: "img",
    "aria-label": plan.title,
    "aria-roledescription": "chart",
  });
  const crosshair = h("div", { class: "crosshair", hidden: true });
  const element = h(
    "section",
    { class: "panel", "aria-label": `Chart of ${plan.title}`, data: { metric } },
    head.element,
    legend.element,
    lane.element,
    h("div", { class: "plot-frame" }, plot, crosshair, head.chips),
    note.element,
  );
  const zoom = (/** @type {[number, number]} */ range) => {
    if (!ownSteps(plan) || (isTimed(plan) && shared.axis === "time")) events.onZoom(range);
  };
  const chart = createChart(plot, {
    onZoom: zoom,
    onReset: events.onReset,
    onFail: note.fail,
    onHover: point,
    onPick: () => {
      const curve = series.find((each) => labelText(each) === focused);
      if (curve && series.length > 1) events.onPin?.(pinKey(curve));
    },
  });

  function draw() {
    const [log, whole, wide] = /** @type {const} */ (["log", "whole", "wide"]).map((mode) =>
      shared.modes[mode].has(metric),
    );
    element.classList.toggle("panel-wide", wide);
    const y = yRange(series, {
      log,
      whole: whole || plan.role === "learning_rate", // a learning-rate schedule has no outliers
      foot: shared.attempts.length > 1,
      warmup: plan.role !== "learning_rate" && !shared.xLog && showsBeginning(plan, shared, series),
    });
    picture = { ...pictureOf(plan, shared, series, focused), log, y, width: plot.clientWidth };
    picture.drawnTo = extent(series, picture.axis)?.[1];
    const thinned = series.reduce((sum, curve) => sum + curve.thinned, 0);
    head.show({ smoothing: shared.smoothing, log, whole, wide, y, thinned });
    lane.show(picture);
    note.show(series);
    plot.setAttribute("aria-label", chartText(plan, picture, shared.axisName));
    hover(null);
    chart.draw(picture);
  }

  /** Highlight a series. @param {string | null} name */
  function focus(name) {
    if (name === focused || !picture) return;
    focused = name;
    if (series.length < 2) return;
    picture = { ...picture, focus: name ?? pictureOf(plan, shared, series, null).focus };
    chart.draw(picture);
  }

  /** The pointer or the keyboard has moved over the plot. @param {{ x: number, y: number | null } | null} position */
  function point(position) {
    if (position && position.y !== null) focus(nearestSeries(position.x, position.y));
    else if (position === null) focus(null);
    events.onHover(position?.x ?? null);
    if (position && position.y === null) announce(readout.element.textContent ?? "");
  }

  /** The series whose line is nearest to the pointer. @param {number} x @param {number} y pixel @returns {string | null} */
  function nearestSeries(x, y) {
    if (!picture || series.length < 2) return null;
    const axis = picture.axis;
    const toPixel = chart.yScale();
    let best = NEAR;
    let name = null;
    for (const curve of series) {
      const { live, ghost } = nearestPoints(curve, axis, x);
      for (const hit of [live, ghost]) {
        if (!hit) continue;
        const distance = Math.abs(toPixel(hit.value) - y);
        if (distance < best) [best, name] = [distance, labelText(curve)];
      }
    }
    return name;
  }

  /** Move the crosshair to a position and show the values there; null: no crosshair, the latest values. @param {number | null} x */
  function hover(x) {
    if (!picture) return;
    if (picture.axis !== shared.axis || (ownSteps(plan) && !isTimed(plan))) x = null;
    const { range, width, xLog } = picture;
    crosshair.hidden = x === null || range === null;
    if (x !== null && range) crosshair.style.transform = `translateX(${scale(range, width, xLog).toPixel(x)}px)`;
    readout.show(picture, x);
    legend.show(picture, valueReader(picture, x ?? range?.[1] ?? 0));
  }

  /** @returns {import("./menu.js").MenuItem[]} */
  function menu() {
    const safely = (/** @type {() => unknown} */ work) => async () => {
      try {
        await work();
      } catch (error) {
        toast(/** @type {Error} */ (error).message, { tone: "critical" });
      }
    };
    const all = async () => (events.fetchAll ? events.fetchAll() : series);
    return [
      ...(events.menu?.() ?? []),
      { text: "Copy link", run: safely(() => copyLink(metric)) },
      { text: "Save as PNG", run: safely(() => savePng(plot, plan.title, shared.palette)) },
      { text: "Save as SVG", run: safely(() => saveSvg(plot, plan.title, shared.palette)) },
      { text: "Save points as CSV", run: safely(async () => saveCsv(await all(), plan.title)) },
      { text: "Save as interactive page", run: safely(() => saveInteractive(plot, plan.title)) },
    ];
  }

  return {
    element,
    plan,
    plot,
    draw,
    hover,
    stale: true,
    /** Of the board: the request for points that is on its way. @type {number | null} */
    requested: null,
    visible: false,
    series: () => series,
    /** @param {ChartCurve[]} curves @param {{ live?: boolean }} [how] `live`: new points, which are drawn once they are a pixel further */
    show(curves, { live = false } = {}) {
      series = curves;
      if (!live || !picture || isVisiblyNew(picture, curves)) return draw();
      picture = { ...picture, series };
      hover(null);
    },
    fail: note.fail,
    destroy: () => chart.destroy(),
    toggleLog: () => events.onMode("log", metric),
  };
}

/** Whether new points change what is drawn: by a pixel, or by a value that is not finite. @param {Picture} drawn @param {ChartCurve[]} curves */
function isVisiblyNew({ series, axis, range, width, drawnTo = -Infinity }, curves) {
  const nonfinite = (/** @type {ChartCurve[]} */ list) => list.reduce((sum, curve) => sum + curve.nonfinite_count, 0);
  if (range === null || curves.length !== series.length || nonfinite(curves) !== nonfinite(series)) return true;
  return (extent(curves, axis)?.[1] ?? -Infinity) - drawnTo >= (range[1] - range[0]) / Math.max(1, width);
}

/** Whether a chart shows the series from the first step of the run. @param {ChartPlan} plan @param {Shared} shared @param {ChartCurve[]} series */
function showsBeginning(plan, shared, series) {
  const { axis, range } = axisOf(plan, shared);
  const bounds = extent(series, axis);
  if (bounds === null) return false;
  return range === null || (range[0] <= bounds[0] && range[1] >= bounds[1]);
}

/**
 * The input of one drawing of a chart. Pure except for the text size of the page.
 * @param {ChartPlan} plan @param {Shared} shared @param {ChartCurve[]} series @param {string | null} pointed
 */
function pictureOf(plan, shared, series, pointed) {
  const { smoothing, palette, attempts, incidents, selected, expected, pinned, xOf } = shared;
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
    pinned,
    xOf,
    xLog: Boolean(shared.xLog) && axis !== "time",
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
  let low = Infinity;
  let high = -Infinity;
  for (const curve of series)
    for (const segment of curve.segments) {
      const positions = axisPositions(segment, axis);
      if (positions.length === 0) continue;
      low = Math.min(low, positions[0]);
      high = Math.max(high, positions[positions.length - 1]);
    }
  return low <= high ? [low, high] : null;
}
