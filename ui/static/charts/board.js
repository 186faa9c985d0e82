// @ts-check
/** The charts of a run. They share a range and a crosshair; charts in view fetch their points together. */

import { appended, lastStep } from "./live_points.js";
import { createPanel, isTimed, metricOf, ownSteps } from "./panel.js";
import { COLOURED, labelText, sameSeries } from "./traces.js";
import * as api from "../lib/api.js";
import * as chartApi from "../lib/chart_api.js";
import { h, refill } from "../lib/dom.js";
import { throttled } from "../lib/live.js";

/** @typedef {import("./panel.js").Shared} Shared */
/** @typedef {import("./panel.js").ChartPlan} ChartPlan */
/** @typedef {ReturnType<typeof createPanel>} Panel */
/** @typedef {import("./curves.js").ChartCurve} ChartCurve */

const REFRESH = 1000; // ms between requests while new points arrive
const RELOAD = 60_000; // ms after which a live chart is fetched again as a whole, in buckets of one width
const LATE_STEPS = 5000; // how far behind the newest point others may arrive until then
const ALL_POINTS = 100_000; // points per series in a file
const POINTS_PER_PIXEL = 1;
const MANY_SERIES = 128; // series of one chart that are fetched together, at COARSE_POINTS
const COARSE_POINTS = 160; // points per series
const GRID_COLUMNS = 160; // of charts with more series

/** @typedef {{ metrics: string[], labels?: object, points?: number, from?: number, to?: number }} Request */

/** The number of series of a chart. @param {ChartPlan} plan */
const sizeOf = (plan) => plan.series_count ?? plan.series.length;

/** Whether a chart has so many series that they are fetched as a grid. Pure. @param {ChartPlan} plan */
export const isGrid = (plan) => sizeOf(plan) > MANY_SERIES;

/**
 * The requests for some charts: one for all metrics with few series, a coarser one for each metric with many
 * ranks. Metrics with very many are fetched as grids. Pure.
 * @param {ChartPlan[]} plans @returns {Request[]}
 */
export function planRequests(plans) {
  const metrics = (/** @type {ChartPlan[]} */ subset) => [
    ...new Set(subset.flatMap((plan) => plan.series.map((name) => name.metric))),
  ];
  const fewSeries = metrics(plans.filter((plan) => sizeOf(plan) <= COLOURED));
  const manySeries = plans.filter((plan) => sizeOf(plan) > COLOURED && !isGrid(plan));
  return [
    ...(fewSeries.length ? [{ metrics: fewSeries }] : []),
    ...manySeries.map((plan) => ({ metrics: metrics([plan]), points: COARSE_POINTS })),
  ];
}

/**
 * The rows of a grid as curves of the newest attempt, with the extremes of each column. Pure.
 * @param {string} metric @param {import("../lib/chart_api.js").Grid} grid @param {Shared["attempts"]} attempts @returns {ChartCurve[]}
 */
export function gridCurves(metric, grid, attempts) {
  const { first_step: first, last_step: last, columns, labels } = grid;
  if (first === null || last === null) return [];
  const width = (last - first + 1) / columns;
  const timeOf = timesOfSteps(attempts);
  return labels.map((own, row) => {
    const filled = Array.from({ length: columns }, (_, i) => row * columns + i).filter((i) => !Number.isNaN(grid.mean[i]));
    const step = filled.map((i) => Math.round(first + (i - row * columns) * width));
    const pick = (/** @type {Float32Array} */ values) => filled.map((i) => values[i]);
    const [minimum, maximum, mean] = [grid.minimum, grid.maximum, grid.mean].map(pick);
    const steps = step.flatMap((each) => [each, each]);
    const segment = {
      attempt: attempts[attempts.length - 1]?.number ?? 0,
      ghost: false,
      step: steps,
      time: steps.map(timeOf),
      value: minimum.flatMap((low, i) => [low, maximum[i]]),
      band: { step, minimum, maximum, mean },
    };
    const counts = { count: steps.length, reduced: true, nonfinite: [], nonfinite_count: 0, thinned: 0 };
    return { metric, labels: own, segments: steps.length ? [segment] : [], ...counts };
  });
}

/** A function from steps to wall times, evenly spaced within each attempt. @param {Shared["attempts"]} attempts @returns {(step: number) => number | null} */
function timesOfSteps(attempts) {
  return (step) => {
    const own = attempts.filter((attempt) => attempt.first_step <= step).at(-1) ?? attempts[0];
    const { first_step: first, last_step: last, first_time: start, last_time: end } = own ?? {};
    if (typeof start !== "number" || typeof end !== "number" || first === undefined || last === undefined) return null;
    return start + ((step - first) / (last - first || 1)) * (end - start);
  };
}

/** The range that a chart's points are fetched for: training steps, wall time, or everything. Pure. @param {ChartPlan} plan @returns {"step" | "time" | "all"} */
export const rangeKind = (plan) => (ownSteps(plan) ? (isTimed(plan) ? "time" : "all") : "step");

/** The shared range in milliseconds, for series whose steps are milliseconds. Empty on a step axis. Pure. @param {Pick<Shared, "axis" | "range">} shared */
export const timeRange = ({ axis, range }) =>
  axis === "time" && range ? { from: range[0], to: range[1] } : {};

/** Whether a chart shows a series. Plans of many series name only the first of them. Pure. @param {ChartPlan} plan @param {ChartCurve} series */
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
    "paper",
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
 * What a board's charts show: `fetch` returns curves of some charts over a range; `all` every point of one chart.
 * @typedef {{ fetch: (plans: ChartPlan[], points: number, since: number | null) => Promise<ChartCurve[]>,
 *   all: (plan: ChartPlan) => Promise<ChartCurve[]> }} CurveSource `since`: only steps after this one
 */

/**
 * The curves of one run.
 * @param {string} runId @param {Shared} shared @param {() => { from: number | null, to: number | null }} steps
 * @param {AbortSignal} signal @returns {CurveSource}
 */
export function runCurves(runId, shared, steps, signal) {
  const ranges = () => ({ step: steps(), time: timeRange(shared), all: {} });
  return {
    async fetch(plans, points, since) {
      const grids = plans.filter(isGrid).map(async (plan) => {
        const range = rangeKind(plan) === "step" ? steps() : { from: null, to: null };
        const grid = await chartApi.gridOf(runId, metricOf(plan), { ...range, columns: GRID_COLUMNS }, signal);
        return gridCurves(metricOf(plan), grid, shared.attempts);
      });
      const answers = await Promise.all(
        Object.entries(ranges()).flatMap(([kind, range]) => {
          const ofKind = plans.filter((plan) => rangeKind(plan) === kind);
          const limited = since === null || kind !== "step" ? range : { ...range, from: since };
          return planRequests(ofKind).map((request) =>
            api.data(runId, request.metrics, { ...limited, points, ...request }, signal),
          );
        }),
      );
      return [...answers.flatMap((answer) => answer.series), ...(await Promise.all(grids)).flat()];
    },
    async all(plan) {
      const range = ranges()[rangeKind(plan)];
      const answer = await api.data(runId, [metricOf(plan)], { ...range, points: ALL_POINTS }, signal);
      return answer.series;
    },
  };
}

/**
 * @param {{ runId?: string, signal: AbortSignal, shared: Shared, steps?: () => { from: number | null, to: number | null },
 *   onZoom: (range: [number, number]) => void, onReset: () => void, source?: CurveSource,
 *   onMode: import("./panel.js").PanelEvents["onMode"], onRemove?: (plan: ChartPlan) => void,
 *   onPin?: (key: string) => void, menu?: (plan: ChartPlan) => import("./menu.js").MenuItem[],
 *   decorate?: (panel: Panel) => void, place?: (series: ChartCurve[]) => void, arrange?: (charts: { plan: ChartPlan, element: HTMLElement }[]) => void }} options
 *   `steps` returns the steps that the shared range covers; `source`: other curves than those of the run;
 *   `place` sets the x positions of curves on other axes than steps and time
 *   `arrange` puts the charts with a section into their places
 */
export function createBoard(options) {
  const { runId = "", signal, shared, steps = () => ({ from: null, to: null }), onZoom, onReset, onMode } = options;
  const source = options.source ?? runCurves(runId, shared, steps, signal);
  /** @type {Map<string, Panel>} */
  const panels = new Map();
  const element = h("div", { class: "board" });
  /** @type {(series: ChartCurve[]) => void} */
  let dataListener = () => {};
  let currentGeneration = 0;
  let frame = 0;
  let loadedAt = 0;

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

  /** @param {Panel[]} some @returns {number} points per series */
  const resolution = (some) =>
    Math.max(200, POINTS_PER_PIXEL * Math.max(...some.map((panel) => panel.element.clientWidth)));

  /** Fetch the points of all charts that are in view and out of date, unless they are on their way. */
  async function load() {
    const requestGeneration = currentGeneration;
    const stalePanels = [...panels.values()].filter(
      (panel) => panel.visible && panel.stale && panel.requested !== requestGeneration,
    );
    if (stalePanels.length === 0 || signal.aborted) return;
    stalePanels.forEach((panel) => (panel.requested = requestGeneration));
    /** @type {ChartCurve[]} */
    let series = [];
    try {
      series = await source.fetch(
        stalePanels.map((panel) => panel.plan),
        resolution(stalePanels),
        null,
      );
      options.place?.(series);
    } catch (error) {
      if (!signal.aborted) stalePanels.forEach((panel) => panel.fail(/** @type {Error} */ (error).message));
      return;
    } finally {
      stalePanels.forEach((panel) => (panel.requested = null));
    }
    if (requestGeneration !== currentGeneration) return; // the range has changed meanwhile, and a newer request is in progress
    dataListener(series);
    for (const panel of stalePanels) {
      panel.stale = false;
      panel.show(series.filter((curve) => planIncludes(panel.plan, curve)));
    }
  }

  /** Fetch what is new since the newest points of the charts in view. Charts that cannot be continued are fetched again. */
  async function loadNewPoints() {
    const current = [...panels.values()].filter((panel) => panel.visible && !panel.stale && !isGrid(panel.plan));
    if (performance.now() - loadedAt > RELOAD || current.length === 0) return reload();
    if (steps().to !== null) return; // an earlier part of the run is in view
    const requestGeneration = currentGeneration;
    const newest = current.flatMap((panel) => panel.series().map(lastStep)).filter((step) => step !== null);
    const since = Math.max(Math.min(...newest), Math.max(...newest) - LATE_STEPS);
    if (!Number.isFinite(since)) return reload();
    const tails = await source.fetch(
      current.map((panel) => panel.plan),
      resolution(current),
      since,
    );
    if (requestGeneration !== currentGeneration || signal.aborted) return;
    options.place?.(tails);
    const byName = new Map(tails.map((tail) => [labelText(tail), tail]));
    for (const panel of current) {
      const before = panel.series();
      const after = before.map((curve) => {
        const tail = byName.get(labelText(curve));
        return tail ? appended(curve, tail) : curve;
      });
      const isNew = tails.some(
        (tail) => planIncludes(panel.plan, tail) && !before.some((curve) => labelText(curve) === labelText(tail)),
      );
      if (isNew || after.includes(null)) outdate(panel);
      else panel.show(/** @type {ChartCurve[]} */ (after), { live: true });
    }
    await load();
  }

  async function reload() {
    loadedAt = performance.now();
    panels.forEach(outdate);
    await load();
  }

  /** Points on their way may lack the newest. @param {Panel} panel */
  function outdate(panel) {
    panel.stale = true;
    panel.requested = null;
  }

  const refreshLive = throttled(signal, REFRESH, loadNewPoints);

  /** @param {number | null} x */
  function hover(x) {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => {
      for (const panel of panels.values()) if (panel.visible) panel.hover(x);
    });
  }

  /** @param {ChartPlan} plan */
  function addPanel(plan) {
    const { onRemove, onPin, menu } = options;
    const panel = createPanel(plan, shared, {
      onZoom,
      onReset,
      onMode,
      onHover: hover,
      onRemove: plan.added && onRemove ? () => onRemove(plan) : undefined,
      onPin,
      fetchAll: () => source.all(plan),
      menu: menu && (() => menu(plan)),
    });
    if (!plan.section) options.decorate?.(panel);
    observer.observe(panel.element);
    sizes.observe(panel.plot);
    return panel;
  }

  return {
    element,
    redraw,
    /** Set the listener that gets the series of every response. @param {typeof dataListener} listener */
    onData: (listener) => void (dataListener = listener),
    panels: () => [...panels.values()],
    /** Mark all charts as out of date: draw them in the new range, then fetch their points. @param {{ live?: boolean }} [how] */
    async refresh({ live = false } = {}) {
      if (live) return refreshLive();
      loadedAt = performance.now();
      panels.forEach(outdate);
      currentGeneration++;
      const shown = [...panels.values()].filter((panel) => panel.visible);
      options.place?.(shown.flatMap((panel) => panel.series())); // they have positions on the axis before
      for (const panel of shown) panel.draw();
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
      for (const [key, plan] of planByKey) if (!panels.has(key)) panels.set(key, addPanel(plan));
      const charts = [...planByKey].map(([key, plan]) => ({
        plan,
        element: /** @type {Panel} */ (panels.get(key)).element,
      }));
      options.arrange?.(charts.filter(({ plan }) => plan.section));
      const ordered = charts.filter(({ plan }) => !plan.section).map((chart) => chart.element);
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
