// @ts-check
/** One run: its strip, the numbers that matter, its curves and its incidents. */

import { createBoard, palette } from "../charts/board.js";
import { metricOf } from "../charts/panel.js";
import { hasNoViewOptions } from "../charts/view_options.js";
import { incidentList } from "../incidents/list.js";
import * as api from "../lib/api.js";
import { h, refill } from "../lib/dom.js";
import { listen, throttled } from "../lib/live.js";
import { empty } from "../lib/placeholders.js";
import * as prefs from "../lib/preferences.js";
import { bindKeys, createActions } from "../run/actions.js";
import { createChartControls } from "../run/chart_controls.js";
import { createCommunication } from "../run/communication.js";
import { createConfiguration } from "../run/configuration.js";
import { createExportDelete, createUnreadable } from "../run/data.js";
import { createHeadline } from "../run/headline.js";
import { createPlannedEvents } from "../run/planned_events.js";
import { createSeriesList } from "../run/series_list.js";
import { plansOf, RunState, showsMetric } from "../run/state.js";

/** @typedef {import("../lib/router.js").Context} Context */
/** @typedef {import("../lib/api_types.js").IncidentView} IncidentView */
/** @typedef {ReturnType<typeof createParts>} Parts */

const REFRESH = 700; // ms between refetches of what stands around the charts
const SLOW_REFRESH = 5000; // ms between those of what is worked out from whole series

/** @type {import("../lib/router.js").View} */
export async function show(root, context) {
  const { params, signal, query, setQuery, onQuery, title } = context;
  const [run, incidents, expected] = await Promise.all([
    api.run(params[0], signal),
    api.incidentsOf(params[0], signal),
    api.expectedIn(params[0], signal),
  ]);
  if (hasNoViewOptions(query())) setQuery(prefs.rememberedLook(run.charts.map(metricOf)));
  const state = new RunState(run, incidents, query());
  const parts = createParts(state, context);
  title(run.name);
  refill(root, parts.headline.element, parts.series.picker.element, parts.body, parts.nothing);
  onQuery(parts.follow);
  listenForUpdates(state, parts, context);
  listenForChartData(state, parts);
  document.addEventListener(
    "holter:theme",
    () => {
      state.shared.palette = palette();
      parts.board.redraw();
    },
    { signal },
  );
  parts.expected.show(expected);
  parts.follow();
  if (location.hash === "#expected") setTimeout(() => openPlannedEvents(parts.expected.element)); // once it stands
}

/** @param {HTMLElement} element */
function openPlannedEvents(element) {
  element.setAttribute("open", "");
  element.scrollIntoView({ block: "center" });
}

/** The parts of the page and what binds them to the address. @param {RunState} state @param {Context} context */
function createParts(state, context) {
  const { signal, query } = context;
  const runId = state.run.id;
  const actions = createActions(state, context, follow);
  const isShown = (/** @type {string} */ metric) => plans().some((plan) => showsMetric(plan, metric));
  const series = createSeriesList({ runId, signal, onPick: addChart, isShown });
  const field = searchField(context, series);
  const headline = createHeadline({ onPick: actions.zoomToSteps, onSetUp: () => configuration.goTo() });
  const controls = createChartControls({
    onAxis: actions.setAxis,
    onSmooth: smooth,
    onWhole: () => actions.zoom(null),
    onAdd: () => field.focus(),
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
  });
  const communication = createCommunication({ runId, signal });
  const configuration = createConfiguration({ runId, signal, onRemarks: headline.remark });
  const checksContainer = h("div", {});
  const unreadable = createUnreadable();
  const exportDelete = createExportDelete({ id: runId, name: state.run.name, points: () => state.run.points });
  const plannedEvents = createPlannedEvents({
    runId,
    project: state.run.project,
    onChange(now) {
      state.shared.expected = now;
      board.redraw();
    },
  });
  const side = h("aside", { class: "side", "aria-label": "Incidents of this run" });
  bindKeys(signal, {
    zoom: actions.zoom,
    range: () => state.shared.range,
    otherAxis: () => actions.setAxis(state.shared.axis === "step" ? "time" : "step"),
    toggleLog: () => board.panels()[0]?.toggleLog(),
  });

  const body = h(
    "div",
    { class: "run-body" },
    h(
      "div",
      { class: "run-main" },
      controls.element,
      board.element,
      checksContainer,
      series.element,
      plannedEvents.element,
      unreadable.element,
      exportDelete.element,
    ),
    side,
  );
  const emptyContainer = h("div", {});
  const emptyPage = h(
    "div",
    {},
    empty("No points yet", "The run is known, its first points are on their way."),
    emptyContainer,
  );
  const plans = () => plansOf(state.run.charts, state.look.charts, series.all());

  /** The address has changed: everything that depends on it follows. */
  function follow() {
    showDetails();
    series.draw();
    drawSide();
    void board.refresh();
    if (state.look.charts.length && !series.known()) void series.load().then(follow, () => {});
  }

  /** What stands around the charts, as it is known now. */
  function showDetails() {
    state.follow(query());
    const { run, shared, look, steps } = state;
    headline.show(run, state.loss);
    headline.showStrip(run, steps.from === null || steps.to === null ? null : [steps.from, steps.to]);
    controls.show({
      axis: shared.axis,
      clock: state.clocked,
      smoothing: look.smoothing,
      zoomed: look.stretch !== null,
      charts: plans().length,
    });
    series.show(run.series);
    unreadable.show(run);
    communication.follow(run);
    configuration.follow(run);
    (run.series > 0 ? checksContainer : emptyContainer).append(communication.element, configuration.element); // what hangs before its first step has one
    board.set(plans());
    emptyPage.hidden = run.series > 0;
    body.hidden = !emptyPage.hidden;
  }

  function drawSide() {
    const { incidents, shared } = state;
    side.hidden = incidents.length === 0;
    refill(
      side,
      h("h2", {}, "Incidents", h("span", { class: "quiet number" }, ` ${incidents.length}`)),
      incidentList(incidents, { selected: shared.selected, onSelect: actions.select, onChange: updateIncident }),
    );
  }

  /** @param {IncidentView} incident */
  function updateIncident(incident) {
    state.learn(incident);
    state.follow(query());
    drawSide();
    board.redraw();
  }

  /** @param {number} strength @param {boolean} settled */
  function smooth(strength, settled) {
    state.sliding = settled ? null : strength;
    if (settled) actions.smooth(strength);
    state.follow(query());
    board.redraw();
  }

  /** @param {string} metric */
  function addChart(metric) {
    field.value = "";
    if (!isShown(metric)) actions.addChart(metric);
    const panel = board.panels().find((candidate) => showsMetric(candidate.plan, metric));
    panel?.element.scrollIntoView({ block: "center" });
    panel?.element.classList.add("panel-highlighted");
  }

  return { headline, series, expected: plannedEvents, board, body, nothing: emptyPage, follow, showAround: showDetails, learn: updateIncident };
}

/** Finding a metric by typing its name. @param {Context} context @param {ReturnType<typeof createSeriesList>} series */
function searchField({ signal, search }, series) {
  const { picker } = series;
  const field = search({
    label: "Find a metric",
    onInput: (text) =>
      void series.load().then(
        () => picker.type(field.value || text),
        () => {},
      ),
    onKey: (event) =>
      void series.load().then(
        () => picker.key(event),
        () => {},
      ),
  });
  field.addEventListener("focus", () => void series.load().catch(() => {}), { signal });
  field.addEventListener("blur", picker.hide, { signal });
  return field;
}

/** Points and incidents as they arrive. @param {RunState} state @param {Parts} parts @param {Context} context */
function listenForUpdates(state, { board, headline, expected, showAround, learn }, { signal }) {
  const { id } = state.run;
  const refreshThroughput = throttled(signal, SLOW_REFRESH, async () => headline.learn(await api.throughputOf(id, signal)));
  const refreshRun = throttled(signal, REFRESH, async () => {
    state.run = await api.run(id, signal);
    showAround();
    refreshThroughput();
  });
  refreshThroughput();
  const refreshAll = () => {
    refreshRun();
    void board.refresh({ live: true });
  };
  listen(signal, {
    points: (news) => news.run_id === id && refreshAll(),
    run: (news) => news.run_id === id && refreshRun(),
    incident: (news) => {
      if (news.run_id !== id) return;
      learn(news);
      refreshRun();
      void api.expectedIn(id, signal).then(expected.show, () => {}); // it may have been planned
    },
    reconnected: refreshAll,
  });
}

/** The loss as charted gives its slope; a stretch of it does not. @param {RunState} state @param {Parts} parts */
function listenForChartData(state, { board, headline }) {
  board.onData((data) => {
    const wanted = state.run.latest.loss?.metric;
    const curve = data.find((series) => series.metric === wanted && Object.keys(series.labels ?? {}).length === 0);
    if (!curve || state.look.stretch !== null) return;
    state.loss = curve;
    headline.show(state.run, curve);
  });
}
