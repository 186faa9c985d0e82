// @ts-check
/** The charts on an incident's page: the incident's own series and related metrics around its steps. */

import { causeMetrics } from "./causes.js";
import { createBoard, palette } from "../charts/board.js";
import { milliseconds } from "../charts/curves.js";
import { fullRange, stepsInRange } from "../charts/ranges.js";
import { readModes, toggleMetric } from "../charts/view_options.js";
import * as api from "../lib/api.js";
import { catalogueKind } from "../lib/catalogue.js";

/** @typedef {import("../lib/api_types.js").IncidentView} IncidentView */
/** @typedef {import("../lib/api_types.js").RunDetail} RunDetail */

const DEFAULT_ROLES = ["loss", "throughput", "grad_norm", "learning_rate"];
const KIND_ROLES =
  /** @type {Record<string, string[]>} roles charted first for a kind, since they show its cause */ ({
    mixture_shift: ["mixture", "dataset_loss"],
    straggler: ["collective_time", "compute_time"],
    comm_slowdown: ["collective_time", "compute_time"],
    loss_scale_collapse: ["grad_norm", "loss_scale"],
    hidden_nonfinite: ["loss", "grad_norm", "skipped_steps"],
  });

/**
 * The steps around an incident: a margin of 80 % of its duration on both sides, at least 4 % of the run and
 * 40 steps. Pure.
 * @param {IncidentView} incident @param {{ first_step: number | null, last_step: number | null }} run
 * @returns {[number, number]}
 */
export function stepsAroundIncident(incident, { first_step: first, last_step: last }) {
  const begin = first ?? incident.start_step;
  const end = last ?? incident.start_step;
  const ended = incident.end_step === null ? null : Math.max(incident.start_step, incident.end_step);
  const until =
    ended ?? (incident.state === "open" ? end : Math.max(incident.detected_step, incident.peak_step ?? 0));
  const minimum = Math.max(40, 0.04 * (end - begin));
  const margin = Math.max(minimum, 0.8 * (until - incident.start_step));
  return [Math.max(begin, incident.start_step - margin), Math.min(Math.max(end, until), until + margin)];
}

/**
 * A stall is shown on a time axis, since no steps were logged: a margin of its length on both sides.
 * @param {IncidentView} incident @returns {[number, number] | null} milliseconds; null for other kinds
 */
export function stallTimeRange(incident) {
  const { start_time: start, evidence } = incident;
  if (incident.kind !== "stall" || start === null) return null;
  const length = typeof evidence.silent_seconds === "number" ? evidence.silent_seconds : 600;
  return [milliseconds(start - length), milliseconds(start + 2 * length)];
}

/** The charts of an incident: its own series first, then those of its causes, then related metrics. Pure. @param {IncidentView} incident @param {RunDetail} run */
export function incidentCharts(incident, run) {
  const ownChart = run.charts.find((plan) => plan.series.some((name) => name.metric === incident.metric)) ?? {
    title: incident.metric,
    role: catalogueKind(incident.kind)?.unit_role ?? "other",
    series: [{ metric: incident.metric, labels: incident.labels }],
  };
  const ofCauses = causeMetrics(incident);
  const plansOfCauses = run.charts.filter(
    (plan) => plan !== ownChart && plan.series.some(({ metric }) => ofCauses.includes(metric)),
  );
  const roles = [...(KIND_ROLES[incident.kind] ?? []), ...DEFAULT_ROLES];
  const related = run.charts
    .filter((plan) => plan !== ownChart && !plansOfCauses.includes(plan) && roles.includes(plan.role))
    .sort((plan, otherPlan) => roles.indexOf(plan.role) - roles.indexOf(otherPlan.role));
  return [ownChart, ...[...plansOfCauses, ...related].slice(0, 3)];
}

/** The first step of the linked incidents in the attempt of an incident, and its causes. Pure. @param {import("../lib/api_types.js").IncidentEvent} event @param {IncidentView} incident */
export function eventStart({ incidents }, incident) {
  const linked = incidents.filter(({ attempt, start_step: start }) => attempt === incident.attempt && start <= incident.start_step);
  const causes = incident.causes.filter(({ clear, attempt }) => clear && attempt === incident.attempt);
  return Math.min(incident.start_step, ...linked.map(({ start_step: start }) => start), ...causes.map(({ step }) => step));
}

/** @param {IncidentView} incident @param {number} start @returns {IncidentView} */
const startingAt = (incident, start) => ({ ...incident, start_step: start });

/**
 * @param {IncidentView} initial @param {import("../lib/api_types.js").IncidentEvent} event with its linked incidents
 * @param {RunDetail} initialRun the run of the incident
 * @param {import("../lib/router.js").PageContext} context
 */
export function createIncidentCharts(initial, event, initialRun, { signal, query, setQuery, onQuery }) {
  let incident = initial;
  let run = initialRun;
  let zoomed = false;
  /** @type {import("../charts/panel.js").Shared} */
  const shared = {
    axis: stallTimeRange(incident) ? "time" : "step",
    range: null,
    smoothing: 0,
    modes: readModes(query()),
    palette: palette(),
    attempts: run.strip.attempts,
    incidents: [incident],
    selected: incident,
    expected: [],
  };
  const board = createBoard({
    runId: run.id,
    signal,
    shared,
    steps: () => stepsInRange(run.strip, shared.axis, shared.range),
    onZoom: showRange,
    onReset: () => showRange(null),
    onMode(mode, metric) {
      setQuery({ [mode]: toggleMetric(shared.modes, mode, metric) });
      follow();
    },
  });

  const incidentRange = () =>
    stallTimeRange(incident) ?? stepsAroundIncident(startingAt(incident, eventStart(event, incident)), run.strip);

  /** @param {[number, number] | null} range null: that of the incident */
  function showRange(range) {
    zoomed = range !== null;
    shared.range = range ?? incidentRange();
    void board.refresh();
  }

  /** Apply the view options of the address. */
  function follow() {
    shared.modes = readModes(query());
    board.redraw();
  }

  onQuery(follow);
  document.addEventListener("holter:theme", () => ((shared.palette = palette()), board.redraw()), { signal });
  board.element.classList.add("board-incident");
  return {
    element: board.element,
    showIncident: () => showRange(null),
    showRun: () => showRange(fullRange(run.strip, shared.axis)),
    /** Draw the charts for the first time, once the element is attached. */
    start() {
      board.set(incidentCharts(incident, run));
      showRange(null);
    },
    /** @param {IncidentView} updated */
    update(updated) {
      incident = updated;
      shared.incidents = [updated];
      shared.selected = updated;
      board.redraw();
    },
    /** Fetch the run and its new points. */
    async refresh() {
      run = await api.run(run.id, signal);
      shared.attempts = run.strip.attempts;
      if (!zoomed && incident.state === "open") shared.range = incidentRange();
      await board.refresh({ live: true });
    },
  };
}
