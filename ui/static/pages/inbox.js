// @ts-check
/** The inbox: all incidents of all runs, unacknowledged ones first. */

import { actOn, incidentLine } from "../incidents/details.js";
import * as api from "../lib/api.js";
import { incidentStateText, severityMark } from "../lib/badges.js";
import { kindTitle, severities, severityRank } from "../lib/catalogue.js";
import { announce, h, link, refill } from "../lib/dom.js";
import { ago, clock, count } from "../lib/format.js";
import { icon } from "../lib/icons.js";
import * as keys from "../lib/keyboard.js";
import { listen, throttled } from "../lib/live.js";
import { empty } from "../lib/placeholders.js";
import { go } from "../lib/router.js";

/** @typedef {import("../lib/api_types.js").IncidentView} IncidentView */

const REFRESH = 2000; // ms
/** @type {[string, string, (incident: IncidentView) => boolean][]} */
const TABS = [
  ["waiting", "Unacknowledged", (incident) => incident.state === "open" && incident.acknowledged_at === null],
  ["open", "Open", (incident) => incident.state === "open"],
  ["recovered", "Recovered", (incident) => incident.state === "recovered"],
  ["closed", "Closed", (incident) => incident.state === "closed"],
  ["all", "All", () => true],
];

/** @param {string} name */
const tabOf = (name) => TABS.find(([key]) => key === name) ?? TABS[0];

/** @param {IncidentView} incident @param {{ q: string, severity: string, run: string }} filter */
export function matches(incident, { q, severity, run }) {
  const text =
    `${incident.run ?? ""} ${incident.project ?? ""} ${kindTitle(incident.kind)} ${incident.kind} ${incident.metric} ${incident.summary}`.toLowerCase();
  return (
    (!severity || incident.severity === severity) &&
    (!run || incident.run_id === run) &&
    q
      .toLowerCase()
      .split(/\s+/)
      .every((word) => text.includes(word))
  );
}

const STATES = ["open", "recovered", "closed"];

/** Open incidents first, the most severe of them first, then the newest. Pure. @param {IncidentView} a @param {IncidentView} b */
export const compareIncidents = (a, b) =>
  STATES.indexOf(a.state) - STATES.indexOf(b.state) ||
  severityRank(a.severity) - severityRank(b.severity) ||
  b.opened_at - a.opened_at;

/** @type {import("../lib/router.js").Page} */
export async function show(root, { signal, query, setQuery, onQuery, search, title }) {
  let incidents = await api.incidents({ state: "all" }, signal);
  /** @type {number | null} */
  let selectedId = null;
  const heading = h("h1", {});
  const controls = h("div", { class: "controls" });
  const list = h("ul", { class: "inbox" });

  const filter = () => {
    const parameters = query();
    return {
      q: parameters.get("q") ?? "",
      state: parameters.get("state") ?? "waiting",
      severity: parameters.get("severity") ?? "",
      run: parameters.get("run") ?? "",
    };
  };

  /** @param {Record<string, string>} changes */
  function change(changes) {
    setQuery(changes);
    draw();
  }

  const shown = () => {
    const current = filter();
    return incidents
      .filter((incident) => tabOf(current.state)[2](incident) && matches(incident, current))
      .sort(compareIncidents);
  };

  function draw() {
    const current = filter();
    const items = shown();
    const unacknowledged = incidents.filter(TABS[0][2]).length;
    title(unacknowledged ? `${unacknowledged} unacknowledged` : "Incidents");
    refill(
      heading,
      unacknowledged ? count(unacknowledged, "unacknowledged incident") : "No unacknowledged incidents",
    );
    refill(controls, filters(incidents, current, change));
    const focused = Number(
      /** @type {HTMLElement | null} */ (document.activeElement?.closest?.("[data-incident]") ?? null)
        ?.dataset.incident,
    );
    refill(
      list,
      items.length
        ? items.map((incident) => row(incident, changed))
        : h("li", {}, emptyState(incidents.length > 0, current, change)),
    );
    if (!list.isConnected) refill(root, h("header", { class: "page-head" }, heading, controls), list);
    if (focused)
      list
        .querySelector(`[data-incident="${focused}"]`)
        ?.querySelector("button")
        ?.focus({ preventScroll: true });
    markSelected();
  }

  /** @param {IncidentView} incident */
  function changed(incident) {
    const before = shown().findIndex((candidate) => candidate.id === selectedId);
    const isKnown = incidents.some((candidate) => candidate.id === incident.id);
    incidents = isKnown
      ? incidents.map((candidate) => (candidate.id === incident.id ? incident : candidate))
      : [...incidents, incident];
    if (!isKnown && incident.state === "open") announce(incident.summary);
    const items = shown();
    if (before >= 0 && !items.some((candidate) => candidate.id === selectedId))
      selectedId = items[Math.min(before, items.length - 1)]?.id ?? null;
    draw();
  }

  function markSelected() {
    for (const element of list.querySelectorAll("[data-incident]"))
      element.classList.toggle(
        "row-selected",
        Number(/** @type {HTMLElement} */ (element).dataset.incident) === selectedId,
      );
  }

  /** @param {number} offset */
  function move(offset) {
    const items = shown();
    if (items.length === 0) return;
    const index = items.findIndex((incident) => incident.id === selectedId);
    selectedId = items[Math.max(0, Math.min(items.length - 1, index < 0 ? 0 : index + offset))].id;
    markSelected();
    list.querySelector(".row-selected")?.scrollIntoView({ block: "nearest" });
    announce(items.find((incident) => incident.id === selectedId)?.summary ?? "");
  }

  /** @param {"acknowledge" | "close"} verb */
  function actOnSelected(verb) {
    const incident = incidents.find((candidate) => candidate.id === selectedId);
    if (!incident || incident.state === "closed") return;
    void actOn(
      incident,
      verb === "acknowledge" && incident.acknowledged_at !== null ? "unacknowledge" : verb,
      changed,
    );
  }

  search({ label: "Search incidents", value: filter().q, onInput: (q) => change({ q }) });
  keys.bind(signal, [
    { keys: "j, ArrowDown", label: "Next incident", run: () => move(1) },
    { keys: "k, ArrowUp", label: "Previous incident", run: () => move(-1) },
    {
      keys: "Enter, o",
      label: "Open the incident",
      run: () => selectedId !== null && go(`/incidents/${selectedId}`),
    },
    { keys: "a", label: "Acknowledge or unacknowledge", run: () => actOnSelected("acknowledge") },
    { keys: "e", label: "Close incident", run: () => actOnSelected("close") },
  ]);
  onQuery(draw);
  const refresh = throttled(signal, REFRESH, async () => {
    incidents = await api.incidents({ state: "all" }, signal);
    draw();
  });
  listen(signal, { incident: changed, reconnected: refresh });
  draw();
}

/** @typedef {{ q: string, state: string, severity: string, run: string }} Filter */
/** @typedef {(changes: Partial<Filter>) => void} Change */

/** The controls that filter the list. @param {IncidentView[]} incidents @param {Filter} filter @param {Change} change */
function filters(incidents, filter, change) {
  const stateButtons = TABS.map(([key, text, belongs]) =>
    toggleButton(key === filter.state, () => change({ state: key === "waiting" ? "" : key }), [
      text,
      h("span", { class: "quiet number" }, ` ${incidents.filter(belongs).length}`),
    ]),
  );
  const severityButtons = ["", ...severities()].map((severity) =>
    toggleButton(severity === filter.severity, () => change({ severity: severity }), [
      severity ? severityMark(severity) : "Any",
    ]),
  );
  return [
    h("div", { class: "segmented", role: "group", "aria-label": "State" }, stateButtons),
    h("div", { class: "segmented", role: "group", "aria-label": "Severity" }, severityButtons),
    filter.run && runChip(incidents, filter.run, change),
  ];
}

/** @param {boolean} pressed @param {() => void} click @param {import("../lib/dom.js").Child[]} children */
const toggleButton = (pressed, click, children) =>
  h("button", { type: "button", "aria-pressed": String(pressed), on: { click } }, children);

/** @param {IncidentView[]} incidents @param {string} id @param {Change} change */
function runChip(incidents, id, change) {
  const name = incidents.find((incident) => incident.run_id === id)?.run ?? id;
  const properties = {
    "aria-label": `Only ${name}. Show all runs`,
    on: { click: () => change({ run: "" }) },
  };
  return h("button", { type: "button", class: "chip", ...properties }, name, icon("close"));
}

/** @param {IncidentView} incident @param {(incident: IncidentView) => void} changed */
function row(incident, changed) {
  const isUnacknowledged = incident.state === "open" && incident.acknowledged_at === null;
  const classes = `severity-edge-${incident.severity} incident-${incident.state}${isUnacknowledged ? " inbox-unacknowledged" : ""}`;
  return h(
    "li",
    { class: `inbox-item ${classes}`, data: { incident: String(incident.id) } },
    h(
      "div",
      { class: "inbox-text" },
      incidentLine(incident),
      link(`/incidents/${incident.id}`, { class: "inbox-summary" }, incident.summary),
      contextLine(incident),
    ),
    rowActions(incident, changed),
  );
}

/** @param {IncidentView} incident */
function contextLine(incident) {
  const { run_id: id, run, project, acknowledged_by: by, opened_at: openedAt } = incident;
  return h(
    "p",
    { class: "quiet" },
    id !== null &&
      link(`/runs/${encodeURIComponent(id)}?incident=${incident.id}`, { class: "inbox-run" }, run),
    id !== null && ` · ${project} · `,
    `${incidentStateText(incident)}${by ? ` by ${by}` : ""} · `,
    h("time", { title: clock(openedAt), data: { ago: String(openedAt) } }, ago(openedAt)),
  );
}

/** @param {IncidentView} incident @param {(incident: IncidentView) => void} changed */
function rowActions(incident, changed) {
  const button = (/** @type {Parameters<typeof actOn>[1]} */ verb, /** @type {string} */ text) =>
    h(
      "button",
      { type: "button", class: "button", on: { click: () => void actOn(incident, verb, changed) } },
      text,
    );
  if (incident.state === "closed") return [button("reopen", "Reopen")];
  const acknowledged = incident.acknowledged_at !== null;
  const acknowledge = acknowledged
    ? button("unacknowledge", "Unacknowledge")
    : button("acknowledge", "Acknowledge");
  return [incident.state === "open" && acknowledge, button("close", "Close")];
}

/** Why the list is empty, and the next step. @param {boolean} hasIncidents whether there are any incidents @param {Filter} filter @param {Change} change */
function emptyState(hasIncidents, filter, change) {
  if (!hasIncidents)
    return empty(
      "No incidents",
      "Holter has detected no incidents in any run. To test that notifications arrive:",
      "holter alert test",
    );
  const click = () => change({ q: "", severity: "", run: "", state: "all" });
  const all = h("button", { type: "button", class: "button", on: { click } }, "Show all incidents");
  if (filter.q || filter.severity || filter.run || filter.state !== "waiting")
    return empty("No matching incidents", "No incident matches the search and the filters.", null, all);
  return empty("All acknowledged", "Every open incident has been acknowledged.", null, all);
}
