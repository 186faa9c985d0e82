// @ts-check
/** The charts of the run page with their controls: first charts, sections, search, x axes, order and size. */

import { createBoard } from "../charts/board.js";
import { metricOf } from "../charts/panel.js";
import { pinKey } from "../charts/traces.js";
import { comparedScale, metricOfAxis, metricScale, placeOnAxis, relativeScale } from "../charts/x_axes.js";
import * as api from "../lib/api.js";
import * as chartApi from "../lib/chart_api.js";
import { h, refill } from "../lib/dom.js";
import { count } from "../lib/format.js";
import { throttled } from "../lib/live.js";
import { toast } from "../lib/toasts.js";
import { createChartControls } from "./chart_controls.js";
import { inOrder, moved, movedOnto, readLayout, resized, storeLayout, toggledTop } from "./chart_layout.js";
import { createRanks } from "./ranks.js";
import { makeMovable } from "./reorder.js";
import { createSections, findCharts, labelInSearch, metricPlan } from "./sections.js";
import { chartPlans } from "./state.js";

/** @typedef {import("../charts/panel.js").ChartPlan} ChartPlan */
/** @typedef {import("../lib/api_types.js").MetricChart} MetricChart */
/** @typedef {import("./state.js").RunState} RunState */

const SCALE_POINTS = 2000; // of the metric that is the x axis
const SCALE_REFRESH = 5000; // ms between requests for it while new points arrive
const FOUND_PAGE = 24; // charts found by words that are shown
const PLOT_HEIGHT = 12.5; // rem, as in charts.css

/**
 * @param {{ state: RunState, signal: AbortSignal, actions: ReturnType<typeof import("./actions.js").createActions>,
 *   setQuery: import("../lib/router.js").PageContext["setQuery"], follow: () => void, onAdd: () => void,
 *   onSmooth: (strength: number, settled: boolean) => void,
 *   allSeries: () => import("../lib/api_types.js").SeriesInfo[], charts: MetricChart[] | null }} options `charts`: all, if known
 */
export function createChartArea({ state, signal, actions, setQuery, follow, onAdd, onSmooth, allSeries, charts }) {
  const runId = state.run.id;
  const { project } = state.run;
  let layout = readLayout(project);
  /** @type {MetricChart[] | null} */
  let allCharts = charts;
  /** @type {{ words: string, plans: ChartPlan[] | null }} the charts that the words of the address find */
  let search = { words: "", plans: null };
  let loadingAxis = "";
  let ranksKey = "";
  let loadingCharts = false;

  const controls = createChartControls({
    runId,
    onAxis: actions.setAxis,
    onXLog: actions.setXLog,
    onSmooth,
    onReset: () => actions.zoom(null),
    onAdd,
    onFind(words) {
      setQuery({ find: words.trim() || null });
      follow();
    },
  });
  const sections = createSections({
    onChange: () => void (set(), board.refresh()),
    stored: (title) => layout.open[title] ?? null,
    store: (title, open) => change({ ...layout, open: { ...layout.open, [title]: open } }),
  });
  const board = createBoard({
    runId,
    signal,
    shared: state.shared,
    steps: () => state.steps,
    onZoom: actions.zoom,
    onReset: () => actions.zoom(null),
    onMode: actions.toggle,
    onRemove: (plan) => actions.removeChart(metricOf(plan)),
    onPin: actions.pin,
    menu: menuOf,
    place(series) {
      if (state.scale) placeOnAxis(series, state.scale);
    },
    arrange: sections.arrange,
    decorate: (panel) =>
      makeMovable(panel.element, metricOf(panel.plan), {
        onDrop: (metric, onto) => rearrange(movedOnto(layout, firstPlans().map(metricOf), metric, onto)),
        onMove: (metric, by) => rearrange(moved(layout, firstPlans().map(metricOf), metric, by)),
      }),
  });
  const ranks = createRanks({
    runId,
    signal,
    steps: () => state.steps,
    palette: () => state.shared.palette,
    onPin: actions.pin,
    pinned: () => state.shared.pinned ?? [],
    onZoom: actions.zoomToSteps,
  });
  const foundNote = h("p", { class: "quiet found-charts", hidden: true, role: "status" });
  const element = h("div", {}, controls.element, foundNote, board.element, sections.element, ranks.element);

  /** @param {import("./chart_layout.js").Layout} changed */
  function change(changed) {
    layout = changed;
    storeLayout(project, changed);
  }

  /** Apply a changed layout. @param {import("./chart_layout.js").Layout} changed */
  function rearrange(changed) {
    change(changed);
    set();
    void board.refresh();
  }

  /** @param {ChartPlan} plan @returns {import("../charts/menu.js").MenuItem[]} */
  function menuOf(plan) {
    const metric = metricOf(plan);
    const shown = firstPlans().map(metricOf);
    const items = [
      {
        text: layout.top.includes(metric) ? "Unpin from the top" : "Pin to the top",
        run: () => rearrange(toggledTop(layout, metric)),
      },
      { text: "Taller", run: () => rearrange(resized(layout, metric, 1)) },
      { text: "Shorter", run: () => rearrange(resized(layout, metric, -1)) },
    ];
    if (plan.section || search.words) return items;
    return [
      ...items,
      { text: "Move earlier", run: () => rearrange(moved(layout, shown, metric, -1)) },
      { text: "Move later", run: () => rearrange(moved(layout, shown, metric, 1)) },
    ];
  }

  /** The charts before the sections. @returns {ChartPlan[]} */
  function firstPlans() {
    const plans = chartPlans(state.run.charts, state.viewOptions.charts, allSeries());
    const shown = new Set(plans.flatMap((plan) => plan.series.map((name) => name.metric)));
    const pinned = (allCharts ?? [])
      .filter(({ metric }) => layout.top.includes(metric) && !shown.has(metric))
      .map((chart) => metricPlan(chart));
    const all = [...pinned, ...plans];
    const byMetric = new Map(all.map((plan) => [metricOf(plan), plan]));
    return inOrder(layout, [...byMetric.keys()]).map((metric) => /** @type {ChartPlan} */ (byMetric.get(metric)));
  }

  /** @returns {ChartPlan[]} */
  function plans() {
    if (search.words && search.plans) {
      sections.plans([]);
      return search.plans.slice(0, FOUND_PAGE);
    }
    const first = firstPlans();
    const shown = new Set(first.flatMap((plan) => plan.series.map((name) => name.metric)));
    const covered = new Set(state.run.charts.flatMap((plan) => plan.series.map((name) => name.metric)));
    const others = (allCharts ?? []).filter(({ metric }) => !shown.has(metric) && !covered.has(metric));
    return [...first, ...sections.plans(others, first.length)];
  }

  /** Show the charts of the present plans. */
  function set() {
    const current = plans();
    board.set(current);
    for (const panel of board.panels()) {
      const factor = layout.heights[metricOf(panel.plan)] ?? 1;
      if (factor === 1) panel.element.style.removeProperty("--plot-height");
      else panel.element.style.setProperty("--plot-height", `${PLOT_HEIGHT * factor}rem`);
    }
    const { plans: found, words } = search;
    foundNote.hidden = !words || found === null;
    if (found)
      refill(
        foundNote,
        found.length === 0
          ? `No chart for “${words}”. Words are parts of a metric's name; a label is written as rank 37.`
          : `${count(found.length, "chart")} for “${words}”${found.length > FOUND_PAGE ? `, the first ${FOUND_PAGE} are shown` : ""}`,
      );
    return current;
  }

  /** Tell the controls which charts there are. @param {MetricChart[]} offered */
  function offer(offered) {
    ranks.offer(offered);
    controls.offer(offered.filter(({ axis }) => axis).map(({ metric }) => metric));
  }

  /** Load the list of all charts again. */
  async function loadCharts() {
    if (loadingCharts) return;
    loadingCharts = true;
    try {
      allCharts = await chartApi.chartsOf(runId, signal);
    } catch {
      return; // the first charts remain; the next update tries again
    } finally {
      loadingCharts = false;
    }
    offer(allCharts);
    if (!state.viewOptions.find) return void show();
    await find(state.viewOptions.find);
    follow();
  }

  /** Find the charts of some words: in names, otherwise by a label, which is then pinned. @param {string} words */
  async function find(words) {
    const text = words.trim();
    search = { words: text, plans: text === search.words ? search.plans : null };
    state.found = [];
    if (!text || allCharts === null) return;
    const direct = findCharts(allCharts, text);
    const label = labelInSearch(text);
    if (direct.length > 0 || label === null) {
      search.plans = direct.map((chart) => metricPlan(chart));
      return;
    }
    const series = await chartApi.findSeries(runId, `${label.name}=${label.value}`, signal).catch(() => []);
    if (search.words !== text) return;
    const matching = series.filter(
      ({ labels }) => String(labels[label.name] ?? labels[label.name.toLowerCase()] ?? "") === label.value,
    );
    const metrics = new Set(matching.map(({ metric }) => metric));
    state.found = [...new Set(matching.map((each) => pinKey(each)))].slice(0, 8);
    search.plans = findCharts(
      allCharts.filter(({ metric }) => metrics.has(metric)),
      label.rest,
    ).map((chart) => metricPlan(chart));
  }

  /** Load the positions of an axis that is neither steps nor wall time. */
  async function loadAxis() {
    const { axis } = state.viewOptions;
    if (axis === "step" || axis === "time") return;
    loadingAxis = axis;
    try {
      const scale = await readScale(axis);
      if (state.viewOptions.axis !== axis) return;
      state.axisScale = { axis, scale };
      follow();
    } catch (error) {
      if (signal.aborted) return;
      toast(/** @type {Error} */ (error).message, { tone: "warning" });
      setQuery({ axis: null, from: null, to: null });
      follow();
    } finally {
      loadingAxis = "";
    }
  }

  /** @param {import("../charts/curves.js").Axis} axis */
  async function readScale(axis) {
    if (axis === "relative") return relativeScale(state.run.strip.attempts);
    const metric = metricOfAxis(axis);
    if (metric !== null) {
      const { series } = await api.data(runId, [metric], { points: SCALE_POINTS }, signal);
      return metricScale(series.find((curve) => Object.keys(curve.labels).length === 0) ?? series[0]);
    }
    const loss = state.run.latest.loss?.metric ?? firstPlans().map(metricOf)[0];
    const query = { runs: [runId], x: axis, metrics: loss ? [loss] : [], points: SCALE_POINTS };
    return comparedScale(await chartApi.compareCurves(query, signal));
  }

  const refreshAxis = throttled(signal, SCALE_REFRESH, loadAxis);

  /** Update controls and charts from the state. @returns {ChartPlan[]} the charts shown */
  function show() {
    const { shared, viewOptions } = state;
    if (viewOptions.find.trim() !== search.words) {
      const words = viewOptions.find;
      void find(words).then(() => {
        follow();
      });
    }
    if (!["step", "time"].includes(viewOptions.axis) && state.scale === null && loadingAxis !== viewOptions.axis)
      void loadAxis();
    const current = set();
    const { from, to } = state.steps;
    if (ranksKey !== `${from} ${to}`) void ranks.load();
    ranksKey = `${from} ${to}`;
    controls.show({
      axis: shared.axis,
      xLog: shared.xLog ?? false,
      clock: state.clocked,
      smoothing: viewOptions.smoothing,
      zoomed: viewOptions.range !== null,
      charts: current.length,
      find: viewOptions.find,
    });
    return current;
  }

  if (allCharts) offer(allCharts);

  return {
    element,
    board,
    show,
    loadCharts,
    focusFind: controls.focusFind,
    /** The charts that are shown. */
    plans,
    /** New points have arrived. */
    async refreshLive() {
      const known = (allCharts ?? []).reduce((sum, chart) => sum + chart.series_count, 0);
      if (state.run.series > known) void loadCharts();
      if (state.scale) refreshAxis();
      else await board.refresh({ live: true });
    },
  };
}
