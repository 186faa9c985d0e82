// @ts-check
/** The page of one run: health strip, summary, charts, incidents, configuration. */

import { palette } from "../charts/board.js";
import { metricOf } from "../charts/panel.js";
import { hasNoViewOptions } from "../charts/view_options.js";
import { incidentList } from "../incidents/list.js";
import { createRunEvents } from "../incidents/run_events.js";
import * as api from "../lib/api.js";
import { chartsOf } from "../lib/chart_api.js";
import { h, refill } from "../lib/dom.js";
import { listen, throttled } from "../lib/live.js";
import { whenNear } from "../lib/near_view.js";
import { addSource } from "../lib/palette.js";
import { empty, sendingExamples } from "../lib/placeholders.js";
import * as prefs from "../lib/preferences.js";
import { bindKeys, createActions, stepsAround } from "../run/actions.js";
import { createChartArea } from "../run/chart_area.js";
import { createCommunication } from "../run/communication.js";
import { createConfiguration } from "../run/configuration.js";
import { createExportDelete, createUnreadable } from "../run/data.js";
import { createHeadline } from "../run/headline.js";
import { metricItems, settingItems } from "../run/palette_items.js";
import { createPlannedEvents } from "../run/planned_events.js";
import { createSeriesList } from "../run/series_list.js";
import { RunState, showsMetric } from "../run/state.js";
import { createStop } from "../run/stop.js";

/** @typedef {import("../lib/router.js").PageContext} PageContext */
/** @typedef {import("../lib/api_types.js").IncidentView} IncidentView */
/** @typedef {ReturnType<typeof createParts>} Parts */

const REFRESH = 3000; // ms between requests for everything but the charts
const SLOW_REFRESH = 5000; // ms between requests that the server computes from complete series

/** @type {import("../lib/router.js").Page} */
export async function show(root, context) {
  const { params, signal, query, setQuery, onQuery, title } = context;
  const [run, incidents, plannedEvents, charts] = await Promise.all([
    api.run(params[0], signal),
    api.incidentsOf(params[0], signal),
    api.plannedEventsOf(params[0], signal),
    chartsOf(params[0], signal).catch(() => null), // the run has its first charts; an update tries again
  ]);
  if (hasNoViewOptions(query())) setQuery(prefs.storedViewOptions(run.charts.map(metricOf)));
  const target = zoomToIncident(run, incidents, context);
  const state = new RunState(run, incidents, query());
  const parts = createParts(state, charts, context);
  title(run.name);
  refill(root, parts.headline.element, parts.series.picker.element, parts.body, parts.emptyPage);
  onQuery(parts.follow);
  listenForUpdates(state, parts, context);
  document.addEventListener(
    "holter:theme",
    () => {
      state.shared.palette = palette();
      parts.board.redraw();
    },
    { signal },
  );
  parts.plannedEvents.show(plannedEvents);
  parts.follow();
  setTimeout(parts.watchChecks); // after the charts have their places
  if (target) setTimeout(() => parts.scrollToChart(target.metric)); // after the page is attached
  if (location.hash === "#expected") setTimeout(() => openPlannedEvents(parts.plannedEvents.element)); // after the page is attached
}

/**
 * The incident of the address if the address has no range: the charts then show the steps around it.
 * @param {import("../lib/api_types.js").RunDetail} run @param {IncidentView[]} incidents @param {PageContext} context
 */
function zoomToIncident(run, incidents, { query, setQuery }) {
  const incident = incidents.find(({ id }) => String(id) === query().get("incident"));
  if (!incident || query().has("from") || query().has("to")) return null;
  const [from, to] = stepsAround(incident, run.last_step);
  setQuery({ from: String(from), to: String(to), axis: null });
  return incident;
}

/** @param {HTMLElement} element */
function openPlannedEvents(element) {
  element.setAttribute("open", "");
  element.scrollIntoView({ block: "center" });
}

/**
 * The parts of the page, connected to the address.
 * @param {RunState} state @param {import("../lib/api_types.js").MetricChart[] | null} allCharts if known @param {PageContext} context
 */
function createParts(state, allCharts, context) {
  const { signal, query } = context;
  const runId = state.run.id;
  const actions = createActions(state, context, follow);
  const isShown = (/** @type {string} */ metric) =>
    board.panels().some(({ plan }) => showsMetric(plan, metric));
  const series = createSeriesList({ runId, signal, onPick: addChart, isShown });
  const field = searchField(context, series);
  const headline = createHeadline({
    onPick: actions.zoomToSteps,
    onDiagnostics: () => configuration.goTo(),
    onDescription: (run) => (state.run = run),
  });
  const charts = createChartArea({
    state,
    signal,
    actions,
    setQuery: context.setQuery,
    follow,
    onAdd: () => field.focus(),
    onSmooth: smooth,
    allSeries: () => series.all(),
    charts: allCharts,
  });
  const { board } = charts;
  const communication = createCommunication({ runId, signal });
  const configuration = createConfiguration({ runId, signal, onDiagnostics: headline.showDiagnostics });
  addSource(signal, async () => {
    if (!series.known()) await series.load();
    return metricItems(series.all(), addChart);
  });
  addSource(signal, (text) => settingItems(runId, text, () => configuration.goTo(), signal));
  const checksContainer = h("div", {});
  let checksAreNear = false;
  const unreadable = createUnreadable();
  const stop = createStop(runId);
  const exportDelete = createExportDelete({
    id: runId,
    name: state.run.name,
    project: state.run.project,
    points: () => state.run.points,
  });
  const plannedEvents = createPlannedEvents({
    runId,
    project: state.run.project,
    onChange(events) {
      state.shared.expected = events;
      board.redraw();
    },
  });
  const events = createRunEvents({ runId, signal });
  const side = h("aside", { class: "side", "aria-label": "Incidents of this run" });
  bindKeys(signal, {
    zoom: actions.zoom,
    nudge: actions.nudge,
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
      h("h2", { class: "visually-hidden" }, "Charts"),
      charts.element,
      checksContainer,
      series.element,
      plannedEvents.element,
      unreadable.element,
      stop.element,
      exportDelete.element,
    ),
    side,
  );
  const emptyContainer = h("div", {});
  const emptyPage = h(
    "div",
    {},
    empty(
      "No points yet",
      "Nothing is known about this run before its first points; the page updates when they arrive.",
      null,
      ...sendingExamples(state.run.project, state.run.name),
    ),
    emptyContainer,
  );

  /** Update everything that depends on the address. */
  function follow() {
    showDetails();
    series.draw();
    drawSide();
    void board.refresh();
    if (state.viewOptions.charts.length && !series.known()) void series.load().then(follow, () => {});
  }

  /** Update everything but the charts and the list of incidents. */
  function showDetails() {
    state.follow(query());
    const { run, steps } = state;
    headline.show(run);
    headline.showStrip(run, steps.from === null || steps.to === null ? null : [steps.from, steps.to]);
    series.show(run.series);
    unreadable.show(run);
    exportDelete.show(run);
    stop.show(run);
    followChecks();
    (run.series > 0 ? checksContainer : emptyContainer).append(communication.element, configuration.element); // a run that hangs before its first step has a configuration, too
    charts.show();
    emptyPage.hidden = run.series > 0;
    body.hidden = !emptyPage.hidden;
  }

  function followChecks() {
    const { run } = state;
    const isNear = checksAreNear || run.series === 0;
    if (isNear) communication.follow(run);
    configuration.follow(run, isNear);
  }

  function drawSide() {
    const { incidents, shared } = state;
    side.hidden = incidents.length === 0;
    if (incidents.length > 0) events.refresh();
    refill(
      side,
      events.element,
      h("h2", {}, "Incidents", h("span", { class: "quiet number" }, ` ${incidents.length}`)),
      incidentList(incidents, {
        selected: shared.selected,
        onSelect: actions.select,
        onChange: updateIncident,
      }),
    );
  }

  /** @param {IncidentView} incident */
  function updateIncident(incident) {
    state.updateIncident(incident);
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

  /** Scroll to the chart of a metric. @param {string} metric */
  function scrollToChart(metric) {
    const panel = board.panels().find((candidate) => showsMetric(candidate.plan, metric)) ?? board.panels()[0];
    panel?.element.scrollIntoView({ block: "center" });
    panel?.element.classList.add("panel-highlighted");
  }

  /** Show the parts below the charts once they are near. */
  function watchChecks() {
    whenNear(checksContainer, signal, () => {
      checksAreNear = true;
      followChecks();
    });
  }

  return { scrollToChart, watchChecks, charts, headline, series, plannedEvents, board, body, emptyPage, follow, showDetails, updateIncident };
}

/** The search field for metrics. @param {PageContext} context @param {ReturnType<typeof createSeriesList>} series */
function searchField({ signal, search }, series) {
  const { picker } = series;
  const field = search({
    label: "Search metrics",
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

/** Update the page when points and incidents arrive. @param {RunState} state @param {Parts} parts @param {PageContext} context */
function listenForUpdates(
  state,
  { charts, headline, plannedEvents, showDetails, updateIncident },
  { signal, query },
) {
  const { id } = state.run;
  const refreshThroughput = throttled(signal, SLOW_REFRESH, async () =>
    headline.showThroughput(await api.throughputOf(id, signal)),
  );
  const refreshRun = throttled(signal, REFRESH, async () => {
    state.run = await api.run(id, signal);
    showDetails();
    refreshThroughput();
  });
  refreshThroughput();
  const refreshAll = () => {
    refreshRun();
    void charts.refreshLive();
  };
  /** Extend the range of the charts to a new point before the run is fetched again. @param {import("../lib/api_types.js").PointsEvent} event */
  const extend = ({ last_step: last, attempt }) => {
    const { strip } = state.run;
    const newest = strip.attempts.at(-1);
    if (last === null || newest?.number !== attempt || last <= newest.last_step) return;
    newest.last_step = last;
    newest.last_time = Date.now() / 1000;
    strip.last_step = Math.max(last, strip.last_step ?? last);
    state.follow(query());
  };
  listen(signal, {
    points(event) {
      if (event.run_id !== id) return;
      extend(event);
      refreshAll();
    },
    run: (event) => event.run_id === id && refreshRun(),
    incident: (incident) => {
      if (incident.run_id !== id) return;
      updateIncident(incident);
      refreshRun();
      void api.plannedEventsOf(id, signal).then(plannedEvents.show, () => {}); // it may have been marked as planned
    },
    reconnected: refreshAll,
  });
}
