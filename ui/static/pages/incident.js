// @ts-check
/** One incident, for someone who was asleep a minute ago: sentence, picture, evidence, advice, history. */

import * as api from "../lib/api.js";
import { createBoard, palette } from "../charts/board.js";
import { milliseconds } from "../charts/curves.js";
import { h, link, refill } from "../lib/dom.js";
import { ago, clock, count, step as stepText } from "../lib/format.js";
import { icon } from "../lib/icons.js";
import { actOn, actions, commentForm, evidenceTable, history } from "../incidents/details.js";
import * as keys from "../lib/keyboard.js";
import { listen, throttled } from "../lib/live.js";
import { readModes, toggleMetric } from "../charts/view_options.js";
import { fullRange, stepsInRange } from "../charts/ranges.js";
import { go } from "../lib/router.js";
import { incidentTitle, lifeWord, severityMark } from "../lib/labels.js";

/** @typedef {import("../lib/api_types.js").IncidentView} IncidentView */
/** @typedef {import("../lib/api_types.js").RunDetail} RunDetail */

const DEFAULT_ROLES = ["loss", "throughput", "grad_norm", "learning_rate"];
const KIND_ROLES = /** @type {Record<string, string[]>} roles that show why, before the others */ ({
  mixture_shift: ["mixture", "dataset_loss"],
  straggler: ["collective_time", "compute_time"],
  comm_slowdown: ["collective_time", "compute_time"],
  loss_scale_collapse: ["grad_norm", "loss_scale"],
  hidden_nonfinite: ["loss", "grad_norm", "skipped_steps"],
});

/**
 * The steps around an incident: as much before as it lasted, a little after, never less than a stretch
 * one can judge by. Pure.
 * @param {IncidentView} incident @param {{ first_step: number | null, last_step: number | null }} run
 * @returns {[number, number]}
 */
export function stepsAroundIncident(incident, { first_step: first, last_step: last }) {
  const begin = first ?? incident.start_step;
  const end = last ?? incident.start_step;
  const ended = incident.end_step === null ? null : Math.max(incident.start_step, incident.end_step);
  const until =
    ended ?? (incident.state === "open" ? end : Math.max(incident.detected_step, incident.peak_step ?? 0));
  const least = Math.max(40, 0.04 * (end - begin));
  const room = Math.max(least, 0.8 * (until - incident.start_step));
  return [Math.max(begin, incident.start_step - room), Math.min(Math.max(end, until), until + room)];
}

/**
 * A stall is seen on the clock, for no step went by: as long before and after as nothing was logged.
 * @param {IncidentView} incident @returns {[number, number] | null} on a date axis; null for other incidents
 */
export function stallTimeRange(incident) {
  const { start_time: start, evidence } = incident;
  if (incident.kind !== "stall" || start === null) return null;
  const length = typeof evidence.silent_seconds === "number" ? evidence.silent_seconds : 600;
  return [milliseconds(start - length), milliseconds(start + 2 * length)];
}

/** Charts for the picture: the incident's own series first, then what was going on beside it. Pure. @param {IncidentView} incident @param {RunDetail} run */
export function picturePlans(incident, run) {
  const own = run.charts.find((plan) => plan.series.some((name) => name.metric === incident.metric)) ?? {
    title: incident.metric,
    role: "other",
    series: [{ metric: incident.metric, labels: incident.labels }],
  };
  const roles = [...(KIND_ROLES[incident.kind] ?? []), ...DEFAULT_ROLES];
  const rest = run.charts
    .filter((plan) => plan !== own && roles.includes(plan.role))
    .sort((plan, otherPlan) => roles.indexOf(plan.role) - roles.indexOf(otherPlan.role));
  return [own, ...rest.slice(0, 3)];
}

/** @type {import("../lib/router.js").View} */
export async function show(root, { params, signal, query, setQuery, onQuery, search, title }) {
  let incident = await api.incident(params[0], signal);
  let run = await api.run(incident.run_id, signal);
  /** @type {[number, number] | null} */
  let zoomed = null;
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
    runId: incident.run_id,
    signal,
    shared,
    steps: () => stepsInRange(run.strip, shared.axis, shared.range),
    onZoom: (range) => showRange(range),
    onReset: () => showRange(null),
    onMode(mode, metric) {
      setQuery({ [mode]: toggleMetric(shared.modes, mode, metric) });
      follow();
    },
  });
  const head = h("header", { class: "incident-head" });
  const evidence = h("section", { class: "card" });
  const advice = h("section", { class: "card advice" });
  const historyPanel = h("div", {});
  const form = commentForm(incident, changed);

  /** @param {[number, number] | null} range */
  function showRange(range) {
    zoomed = range;
    shared.range = range ?? stallTimeRange(incident) ?? stepsAroundIncident(incident, run.strip);
    void board.refresh();
  }

  /** How the charts are drawn stands in the address. */
  function follow() {
    shared.modes = readModes(query());
    board.redraw();
  }
  onQuery(follow);

  /** @param {IncidentView} fresh */
  function changed(fresh) {
    incident = fresh;
    shared.incidents = [fresh];
    shared.selected = fresh;
    draw();
    board.redraw();
  }

  function draw() {
    title(`${incidentTitle(incident)} in ${incident.run}`);
    const steps = incident.end_step === null ? 0 : incident.end_step - incident.start_step;
    const lasted = steps > 0 ? `, lasted ${count(steps, "step")}` : "";
    refill(
      head,
      h(
        "p",
        { class: "crumbs quiet" },
        link("/incidents", {}, "Incidents"),
        " / ",
        link(`/runs/${encodeURIComponent(incident.run_id)}`, {}, incident.run),
      ),
      h(
        "p",
        { class: `row incident-${incident.state}` },
        severityMark(incident.severity),
        h(incident.state === "open" ? "b" : "span", {}, incidentTitle(incident)),
        h(
          "span",
          { class: "quiet" },
          lifeWord(incident),
          incident.acknowledged_by ? ` by ${incident.acknowledged_by}` : "",
        ),
      ),
      h("h1", {}, incident.summary),
      h(
        "p",
        { class: "quiet number" },
        `Began at step ${stepText(incident.start_step)} of attempt ${incident.attempt}`,
        incident.start_time === null ? "" : `, ${clock(incident.start_time)} (`,
        incident.start_time === null
          ? null
          : h("time", { data: { ago: String(incident.start_time) } }, ago(incident.start_time)),
        incident.start_time === null ? "" : ")",
        lasted,
      ),
      h(
        "p",
        { class: "row" },
        ...actions(incident, changed),
        link(
          `/runs/${encodeURIComponent(incident.run_id)}?incident=${incident.id}`,
          { class: "button" },
          "Show in the run",
          icon("arrow"),
        ),
      ),
    );
    refill(evidence, h("h2", {}, "Evidence"), evidenceTable(incident));
    refill(advice, h("h2", {}, "What to do"), h("p", {}, incident.advice || "Nothing needs to be done."));
    refill(historyPanel, history(incident));
  }

  const refresh = throttled(signal, 1500, async () => {
    run = await api.run(incident.run_id, signal);
    shared.attempts = run.strip.attempts;
    if (!zoomed && incident.state === "open") shared.range = stallTimeRange(incident) ?? stepsAroundIncident(incident, run.strip);
    await board.refresh({ live: true });
  });
  keys.bind(signal, [
    {
      keys: "a",
      label: "Acknowledge",
      run: () =>
        incident.state !== "closed" &&
        void actOn(incident, incident.acknowledged_at === null ? "acknowledge" : "unacknowledge", changed),
    },
    {
      keys: "e",
      label: "Close or reopen",
      run: () => void actOn(incident, incident.state === "closed" ? "reopen" : "close", changed),
    },
    {
      keys: "p",
      label: "This was planned",
      run: () => incident.state !== "closed" && void actOn(incident, "planned", changed),
    },
    { keys: "c", label: "Comment", run: () => form.querySelector("textarea")?.focus() },
    { keys: "0", label: "The whole event", run: () => showRange(null) },
    { keys: "-", label: "The whole run", run: () => showRange(fullRange(run.strip, shared.axis)) },
  ]);
  document.addEventListener("holter:theme", () => ((shared.palette = palette()), board.redraw()), { signal });
  listen(signal, {
    incident: (news) => news.id === incident.id && changed(news),
    points: (news) => news.run_id === incident.run_id && incident.state === "open" && refresh(),
    reconnected: async () => changed(await api.incident(incident.id, signal)),
  });

  const field = search({
    label: "Find an incident",
    onInput: () => {},
    onKey: (event) =>
      event.key === "Enter" && go(`/incidents?state=all&q=${encodeURIComponent(field.value)}`),
  });
  board.element.classList.add("board-incident");
  refill(
    root,
    head,
    board.element,
    h(
      "div",
      { class: "incident-columns" },
      evidence,
      advice,
      h("section", { class: "card" }, h("h2", {}, "History"), historyPanel, form),
    ),
  );
  draw();
  board.set(picturePlans(incident, run));
  showRange(null);
}
