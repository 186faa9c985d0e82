// @ts-check
/** The charts of a run. They share a range and a crosshair; charts in view fetch their points together. */

import { createPanel, highlightedIncidents, isTimed, ownSteps } from "./panel.js";
import { prepare } from "./plotly.js";
import { COLOURED, concernsSeries, sameSeries } from "./traces.js";
import * as api from "../lib/api.js";
import { h, refill } from "../lib/dom.js";
import { throttled } from "../lib/live.js";

/** @typedef {import("./panel.js").Shared} Shared */
/** @typedef {import("./panel.js").ChartPlan} ChartPlan */
/** @typedef {ReturnType<typeof createPanel>} Panel */

const REFRESH = 500; // ms between requests while new points arrive
const POINTS_PER_PIXEL = 1;
const MANY_SERIES = 128; // series of one chart that are fetched together, at COARSE_POINTS
const COARSE_POINTS = 240; // points per series
const MAX_HIGHLIGHTED = 8; // series of a larger chart that are shown because they have an incident

/** @typedef {{ metrics: string[], labels?: object, points?: number, from?: number, to?: number }} Request */

/**
 * The requests for some charts: one for all metrics with few series, a coarser one for each metric with many
 * ranks. Of a metric with very many (a thousand ranks) only the first series and those with incidents. Pure.
 * @param {ChartPlan[]} plans @param {import("../lib/api_types.js").IncidentView[]} highlighted @returns {Request[]}
 */
export function planRequests(plans, highlighted) {
  const size = (/** @type {ChartPlan} */ plan) => plan.series_count ?? plan.series.length;
  const metrics = (/** @type {ChartPlan[]} */ subset) => [
    ...new Set(subset.flatMap((plan) => plan.series.map((name) => name.metric))),
  ];
  const fewSeries = metrics(plans.filter((plan) => size(plan) <= COLOURED));
  const manySeries = plans.filter((plan) => size(plan) > COLOURED && size(plan) <= MANY_SERIES);
  const tooMany = plans.filter((plan) => size(plan) > MANY_SERIES);
  return [
    ...(fewSeries.length ? [{ metrics: fewSeries }] : []),
    ...manySeries.map((plan) => ({ metrics: metrics([plan]), points: COARSE_POINTS })),
    ...tooMany.flatMap((plan) => requestSelected(plan, highlighted)),
  ];
}

/** One request for each of the first series and for those with incidents. @param {ChartPlan} plan @param {import("../lib/api_types.js").IncidentView[]} highlighted @returns {Request[]} */
function requestSelected({ series }, highlighted) {
  const first = series.slice(0, COLOURED);
  const requests = first.map(({ metric, labels }) => ({ metrics: [metric], labels }));
  const withIncidents = highlighted
    .filter(
      (incident) =>
        incident.metric === series[0].metric && !first.some((name) => concernsSeries(incident, name)),
    )
    .slice(0, MAX_HIGHLIGHTED);
  return [...requests, ...withIncidents.map(({ metric, labels }) => ({ metrics: [metric], labels }))];
}

/** The range that a chart's points are fetched for: training steps, wall time, or everything. Pure. @param {ChartPlan} plan @returns {"step" | "time" | "all"} */
export const rangeKind = (plan) => (ownSteps(plan) ? (isTimed(plan) ? "time" : "all") : "step");

/** The shared range in milliseconds, for series whose steps are milliseconds. Empty on a step axis. Pure. @param {Pick<Shared, "axis" | "range">} shared */
export const timeRange = ({ axis, range }) =>
  axis === "time" && range ? { from: range[0], to: range[1] } : {};

/** Whether a chart shows a series. Plans of many series name only the first of them. Pure. @param {ChartPlan} plan @param {import("../lib/api_types.js").ChartCurve} series */
export function planIncludes(plan, series) {
  const partial = (plan.series_count ?? 0) > plan.series.length;
  return plan.series.some((name) => (partial ? name.metric === series.metric : sameSeries(name, series)));
}

/** The colours of tokens.css in the current theme. @returns {Record<string, string>} */
export function palette() {
  const style = getComputedStyle(document.documentElement);
  const names = [
    "ink",
    "ink-quiet",
    "paper-raised",
    "line-strong",
    "grid",
    "accent",
    "ghost",
    "series-rest",
    "mark-info",
    "mark-warning",
    "mark-critical",
  ];
  for (let i = 1; i <= 8; i++) names.push(`series-${i}`);
  return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

/**
 * @param {{ runId: string, signal: AbortSignal, shared: Shared, steps: () => { from: number | null, to: number | null },
 *   onZoom: (range: [number, number]) => void, onReset: () => void,
 *   onMode: import("./panel.js").PanelEvents["onMode"], onRemove?: (plan: ChartPlan) => void }} options
 *   `steps` returns the steps that the shared range covers
 */
export function createBoard({ runId, signal, shared, steps, onZoom, onReset, onMode, onRemove }) {
  /** @type {Map<string, Panel>} */
  const panels = new Map();
  const element = h("div", { class: "board" });
  /** @type {(series: import("../lib/api_types.js").ChartCurve[]) => void} */
  let dataListener = () => {};
  let currentGeneration = 0;
  let frame = 0;

  const observer = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        const panel = [...panels.values()].find((candidate) => candidate.element === entry.target);
        if (panel) panel.visible = entry.isIntersecting;
      }
      void load();
    },
    { rootMargin: "200px" },
  );
  const sizes = new ResizeObserver((entries) => {
    const plots = new Set(entries.map((entry) => entry.target));
    for (const panel of panels.values()) if (plots.has(panel.plot) && canDraw(panel)) panel.draw();
  });
  signal.addEventListener(
    "abort",
    () => {
      observer.disconnect();
      sizes.disconnect();
      panels.forEach((panel) => panel.destroy());
    },
    { once: true },
  );

  /** Redraw the charts in view with the points already fetched. */
  function redraw() {
    for (const panel of panels.values()) if (canDraw(panel)) panel.draw();
  }

  /** Fetch the points of all charts that are in view and out of date. */
  async function load() {
    const stalePanels = [...panels.values()].filter((panel) => panel.visible && panel.stale);
    if (stalePanels.length === 0 || signal.aborted) return;
    const requestGeneration = currentGeneration;
    const width = Math.max(...stalePanels.map((panel) => panel.element.clientWidth));
    const points = Math.max(200, POINTS_PER_PIXEL * width);
    const ranges = { step: steps(), time: timeRange(shared), all: {} };
    /** @type {import("../lib/api_types.js").ChartData[]} */
    let answers = [];
    try {
      const pending = Object.entries(ranges).flatMap(([kind, range]) => {
        const plans = stalePanels.map((panel) => panel.plan).filter((plan) => rangeKind(plan) === kind);
        return planRequests(plans, highlightedIncidents(shared)).map((request) =>
          api.data(runId, request.metrics, { ...range, points, ...request }, signal),
        );
      });
      prepare(); // loads Plotly while the points are fetched
      answers = await Promise.all(pending);
    } catch (error) {
      if (!signal.aborted) stalePanels.forEach((panel) => panel.fail(/** @type {Error} */ (error).message));
      return;
    }
    if (requestGeneration !== currentGeneration) return; // the range has changed meanwhile, and a newer request is in progress
    const series = answers.flatMap((answer) => answer.series);
    dataListener(series);
    for (const panel of stalePanels) {
      panel.stale = false;
      panel.show(series.filter((curve) => planIncludes(panel.plan, curve)));
    }
  }

  const refreshLive = throttled(signal, REFRESH, load);

  /** @param {number | null} x */
  function hover(x) {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => {
      for (const panel of panels.values()) if (panel.visible) panel.hover(x);
    });
  }

  return {
    element,
    redraw,
    /** Set the listener that gets the series of every response. @param {typeof dataListener} listener */
    onData: (listener) => void (dataListener = listener),
    panels: () => [...panels.values()],
    /** Mark all charts as out of date: draw them in the new range, then fetch their points. @param {{ live?: boolean }} [options] */
    async refresh({ live = false } = {}) {
      panels.forEach((panel) => (panel.stale = true));
      if (live) return refreshLive();
      currentGeneration++;
      for (const panel of panels.values()) if (panel.visible) panel.draw();
      await load();
    },
    /** @param {ChartPlan[]} plans in the order they are shown */
    set(plans) {
      const planByKey = new Map(plans.map((plan) => [planKey(plan), plan]));
      for (const [key, panel] of panels) {
        if (planByKey.has(key)) continue;
        observer.unobserve(panel.element);
        sizes.unobserve(panel.plot);
        panel.destroy();
        panels.delete(key);
      }
      for (const [key, plan] of planByKey) {
        if (panels.has(key)) continue;
        const remove = plan.added && onRemove ? () => onRemove(plan) : undefined;
        const panel = createPanel(plan, shared, {
          onZoom,
          onReset,
          onMode,
          onHover: hover,
          onRemove: remove,
        });
        panels.set(key, panel);
        observer.observe(panel.element);
        sizes.observe(panel.plot);
      }
      const ordered = [...planByKey.keys()].map((key) => /** @type {Panel} */ (panels.get(key)).element);
      if (
        ordered.some((child, i) => element.children[i] !== child) ||
        element.children.length !== ordered.length
      )
        refill(element, ordered);
    },
  };
}

/** @param {Panel} panel */
const canDraw = (panel) => panel.visible && !panel.stale;

/** @param {ChartPlan} plan */
export const planKey = (plan) => `${plan.title} ${JSON.stringify(plan.series)}`;
