// @ts-check
/** The page of one incident: summary, charts, probable causes, advice, evidence, history. */

import { causeList } from "../incidents/causes.js";
import { createIncidentCharts } from "../incidents/charts.js";
import {
  actions,
  actOn,
  commentForm,
  evidenceTable,
  history,
  inRun,
  onsetLine,
} from "../incidents/details.js";
import * as api from "../lib/api.js";
import { incidentStateText, severityMark } from "../lib/badges.js";
import { titleWithCauses } from "../lib/catalogue.js";
import { h, link, refill } from "../lib/dom.js";
import { icon } from "../lib/icons.js";
import * as keys from "../lib/keyboard.js";
import { listen, throttled } from "../lib/live.js";
import { go } from "../lib/router.js";

/** @typedef {import("../lib/api_types.js").IncidentView} IncidentView */

const REFRESH = 1500; // ms between requests while new points arrive

/** @type {import("../lib/router.js").Page} */
export async function show(root, context) {
  const { params, signal, search, title } = context;
  let incident = await api.incident(params[0], signal);
  const runId = incident.run_id;
  const charts =
    runId === null ? null : createIncidentCharts(incident, await api.run(runId, signal), context);
  const head = h("header", { class: "incident-head" });
  const causes = h("section", { class: "card" });
  const evidence = h("section", { class: "card" });
  const advice = h("section", { class: "card advice" });
  const historyPanel = h("div", {});
  const form = commentForm(incident, changed);

  /** @param {IncidentView} updated */
  function changed(updated) {
    incident = updated;
    draw();
    charts?.update(updated);
  }

  function draw() {
    title(`${titleWithCauses(incident)}${inRun(incident)}`);
    refill(head, ...headline(incident, changed));
    causes.hidden = incident.causes.length === 0;
    refill(causes, h("h2", {}, "Probable causes"), causeList(incident.causes));
    refill(evidence, h("h2", {}, "Evidence"), evidenceTable(incident));
    refill(advice, h("h2", {}, "What to do"), h("p", {}, incident.advice || "No action needed."));
    refill(historyPanel, history(incident));
  }

  bindKeys(signal, {
    incident: () => incident,
    changed,
    charts,
    focusComment: () => form.querySelector("textarea")?.focus(),
  });
  const refresh = throttled(signal, REFRESH, () => charts?.refresh());
  listen(signal, {
    incident: (updated) => updated.id === incident.id && changed(updated),
    points: (event) => event.run_id === runId && incident.state === "open" && refresh(),
    reconnected: async () => changed(await api.incident(incident.id, signal)),
  });
  const field = search({
    label: "Search incidents",
    onInput: () => {},
    onKey: (event) =>
      event.key === "Enter" && go(`/incidents?state=all&q=${encodeURIComponent(field.value)}`),
  });
  const explanation = h("div", { class: "incident-explanation" }, causes, advice);
  const historyCard = h("section", { class: "card" }, h("h2", {}, "History"), historyPanel, form);
  const cards = h("div", { class: "incident-columns" }, explanation, evidence, historyCard);
  refill(root, head, charts?.element, cards);
  draw();
  charts?.start();
}

/** The top of the page. @param {IncidentView} incident @param {(incident: IncidentView) => void} changed */
function headline(incident, changed) {
  const { run_id: id, run, acknowledged_by: by } = incident;
  const address = id === null ? null : `/runs/${encodeURIComponent(id)}`;
  const status = h("span", { class: "quiet" }, incidentStateText(incident), by ? ` by ${by}` : "");
  const titleText = h(incident.state === "open" ? "b" : "span", {}, titleWithCauses(incident));
  return [
    h(
      "p",
      { class: "crumbs quiet" },
      link("/incidents", {}, "Incidents"),
      address && " / ",
      address && link(address, {}, run),
    ),
    h("p", { class: `row incident-${incident.state}` }, severityMark(incident.severity), titleText, status),
    h("h1", {}, incident.summary),
    h("p", { class: "quiet number" }, onsetLine(incident)),
    h(
      "p",
      { class: "row" },
      ...actions(incident, changed),
      address &&
        link(`${address}?incident=${incident.id}`, { class: "button" }, "Show in run", icon("arrow")),
    ),
  ];
}

/**
 * @param {AbortSignal} signal
 * @param {{ incident: () => IncidentView, changed: (incident: IncidentView) => void,
 *   charts: ReturnType<typeof createIncidentCharts> | null, focusComment: () => void }} page
 */
function bindKeys(signal, { incident, changed, charts, focusComment }) {
  /** @param {Parameters<typeof actOn>[1]} verb */
  const act = (verb) => void actOn(incident(), verb, changed);
  const isOpen = () => incident().state !== "closed";
  keys.bind(signal, [
    {
      keys: "a",
      label: "Acknowledge or unacknowledge",
      run: () => isOpen() && act(incident().acknowledged_at === null ? "acknowledge" : "unacknowledge"),
    },
    { keys: "e", label: "Close or reopen", run: () => act(isOpen() ? "close" : "reopen") },
    { keys: "c", label: "Comment", run: focusComment },
  ]);
  if (charts === null) return;
  keys.bind(signal, [
    { keys: "p", label: "Mark as planned", run: () => isOpen() && act("planned") },
    { keys: "0", label: "Show the entire incident", run: charts.showIncident },
    { keys: "-", label: "Show the entire run", run: charts.showRun },
  ]);
}
