// @ts-check
/** The inbox: incidents of all runs by day and run, those that began last first; a page of 50 with more. */

import { author } from "../incidents/author.js";
import { actOn, failureText } from "../incidents/actions.js";
import { incidentLine } from "../incidents/details.js";
import { rememberList } from "../incidents/neighbours.js";
import * as api from "../lib/api.js";
import { incidentStateText, severityMark } from "../lib/badges.js";
import { severities } from "../lib/catalogue.js";
import { announce, h, link, refill } from "../lib/dom.js";
import { ago, clock, count, day, timeOfDay } from "../lib/format.js";
import { icon } from "../lib/icons.js";
import * as keys from "../lib/keyboard.js";
import { listen, throttled } from "../lib/live.js";
import { empty } from "../lib/placeholders.js";
import { go } from "../lib/router.js";
import { listenToSwipes } from "../lib/swipe.js";
import { toast } from "../lib/toasts.js";

/** @typedef {import("../lib/api_types.js").IncidentView} IncidentView */
/** @typedef {import("../lib/api_types.js").IncidentPage} IncidentPage */
/** @typedef {import("../lib/api_types.js").IncidentCounts} IncidentCounts */
/** @typedef {{ q: string, state: string, severity: string, run: string, time: string }} Filter */

const REFRESH = 2000; // ms
const PAGE = 50;
const SEARCH_DELAY = 200; // ms after the last keystroke
/** @type {[string, string, keyof IncidentCounts][]} address, text and count of each tab */
const TABS = [
  ["waiting", "Unacknowledged", "unacknowledged"],
  ["open", "Open", "open"],
  ["recovered", "Recovered", "recovered"],
  ["closed", "Closed", "closed"],
  ["all", "All", "all"],
];

const DAY = 86_400; // seconds
/** Value in the address and text of the choices of the time bar. @type {[string, string][]} */
const TIMES = [
  ["", "Any time"],
  ["today", "Today"],
  ["yesterday", "Yesterday"],
  ["7d", "7 days"],
  ["30d", "30 days"],
];

/**
 * The times between which incidents of a choice began, in Unix seconds. Pure.
 * @param {string} choice @param {number} midnight the beginning of today @returns {{ since: number | null, until: number | null }}
 */
export function timesOf(choice, midnight) {
  if (choice === "today") return { since: midnight, until: null };
  if (choice === "yesterday") return { since: midnight - DAY, until: midnight };
  const days = Number(choice.replace("d", ""));
  return { since: days > 0 ? midnight + DAY - days * DAY : null, until: null };
}

/** The newest event first. Pure. @param {IncidentView} a @param {IncidentView} b */
export const compareIncidents = (a, b) => b.began_at - a.began_at || b.id - a.id;

/**
 * Incidents by the day on which they began, and within it by run; the newest first. Pure.
 * @param {IncidentView[]} incidents @param {(time: number) => string} [dayOf]
 * @returns {{ day: string, runs: { id: string | null, name: string, project: string, incidents: IncidentView[] }[] }[]}
 */
export function groupByDay(incidents, dayOf = day) {
  /** @type {ReturnType<typeof groupByDay>} */
  const days = [];
  for (const incident of [...incidents].sort(compareIncidents)) {
    const name = dayOf(incident.began_at);
    let group = days.at(-1);
    if (group?.day !== name) days.push((group = { day: name, runs: [] }));
    let run = group.runs.find(({ id }) => id === incident.run_id);
    if (!run)
      group.runs.push(
        (run = { id: incident.run_id, name: incident.run ?? "Agents", project: incident.project ?? "", incidents: [] }),
      );
    run.incidents.push(incident);
  }
  return days;
}

/** @type {import("../lib/router.js").Page} */
export async function show(root, { signal, query, setQuery, onQuery, search, title }) {
  let shownCount = PAGE;
  let page = await load();
  let selectedId = /** @type {number | null} */ (null);
  const heading = h("h1", {});
  const controls = h("div", { class: "controls" });
  const list = h("div", { class: "inbox" });
  let timer = 0;

  /** @returns {Filter} */
  function filter() {
    const parameters = query();
    return {
      q: parameters.get("q") ?? "",
      state: parameters.get("state") ?? "waiting",
      severity: parameters.get("severity") ?? "",
      run: parameters.get("run") ?? "",
      time: parameters.get("time") ?? "",
    };
  }

  function load() {
    const { q, state, severity, run, time } = filter();
    const wanted = state === "waiting" ? "unacknowledged" : state;
    const times = timesOf(time, new Date().setHours(0, 0, 0, 0) / 1000);
    return api.incidentPage({ q, state: wanted, severity, run, ...times, order: "event", limit: shownCount }, signal);
  }

  async function reload() {
    page = await load();
    draw();
  }

  /** @param {Partial<Filter>} changes */
  function change(changes) {
    setQuery(changes);
    shownCount = PAGE;
    void reload();
  }

  function draw() {
    const current = filter();
    const waiting = page.counts.unacknowledged;
    title(waiting ? `${waiting} unacknowledged` : "Incidents");
    refill(heading, waiting ? count(waiting, "unacknowledged incident") : "No unacknowledged incidents");
    refill(controls, filters(page, current, change), bulkButton());
    const focused = Number(
      /** @type {HTMLElement | null} */ (document.activeElement?.closest?.("[data-incident]") ?? null)
        ?.dataset.incident,
    );
    refill(
      list,
      ...(page.incidents.length ? daySections(page.incidents, changed) : [emptyState(current, page.counts.all === 0, change)]),
      page.total > page.incidents.length && moreButton(),
    );
    if (!list.isConnected) refill(root, h("header", { class: "page-head" }, heading, controls), list);
    if (focused) rowOf(focused)?.querySelector("button")?.focus({ preventScroll: true });
    markSelected();
    rememberList(groupByDay(page.incidents).flatMap(({ runs }) => runs.flatMap((run) => run.incidents.map(({ id }) => id))));
  }

  function moreButton() {
    const more = async () => {
      shownCount += PAGE;
      await reload();
    };
    return h(
      "p",
      { class: "inbox-more" },
      h("button", { type: "button", class: "button", on: { click: more } }, `Show ${Math.min(PAGE, page.total - page.incidents.length)} more`),
      h("span", { class: "quiet number" }, ` ${page.incidents.length} of ${page.total}`),
    );
  }

  function bulkButton() {
    const waiting = page.incidents.filter(isUnacknowledged);
    if (waiting.length < 2) return null;
    const click = async () => {
      try {
        const changedOnes = await api.acknowledgeAll(waiting.map(({ id }) => id), author());
        const undo = () => void Promise.all(changedOnes.map(({ id }) => api.act(id, "unacknowledge"))).then(reload);
        toast(`Acknowledged: ${count(changedOnes.length, "incident")}`, { action: "Undo", run: undo });
      } catch (error) {
        toast(failureText(/** @type {Error} */ (error)), { tone: "critical" });
      }
      await reload();
    };
    return h("button", { type: "button", class: "button", on: { click } }, `Acknowledge ${waiting.length}`);
  }

  /** @param {IncidentView} incident */
  function changed(incident) {
    const before = page.incidents.findIndex((candidate) => candidate.id === selectedId);
    const known = page.incidents.some((candidate) => candidate.id === incident.id);
    if (!known && incident.state === "open") announce(incident.summary);
    const stays = belongs(incident, filter());
    page.incidents = page.incidents.flatMap((each) =>
      each.id !== incident.id ? [each] : stays ? [incident] : [],
    );
    if (selectedId === incident.id && !stays)
      selectedId = page.incidents[Math.min(before, page.incidents.length - 1)]?.id ?? null;
    draw();
    refresh();
  }

  const rowOf = (/** @type {number | null} */ id) => list.querySelector(`[data-incident="${id}"]`);
  const rows = () => /** @type {HTMLElement[]} */ ([...list.querySelectorAll("[data-incident]")]);

  function markSelected() {
    for (const element of rows())
      element.classList.toggle("row-selected", Number(element.dataset.incident) === selectedId);
  }

  /** @param {number} offset */
  function move(offset) {
    const ids = rows().map((element) => Number(element.dataset.incident));
    if (ids.length === 0) return;
    const index = selectedId === null ? -1 : ids.indexOf(selectedId);
    selectedId = ids[Math.max(0, Math.min(ids.length - 1, index < 0 ? 0 : index + offset))];
    markSelected();
    rowOf(selectedId)?.scrollIntoView({ block: "nearest" });
    announce(page.incidents.find((incident) => incident.id === selectedId)?.summary ?? "");
  }

  /** @param {"acknowledge" | "close"} verb */
  function actOnSelected(verb) {
    const incident = page.incidents.find((candidate) => candidate.id === selectedId);
    if (!incident || incident.state === "closed") return;
    const undoes = verb === "acknowledge" && incident.acknowledged_at !== null;
    void actOn(incident, undoes ? "unacknowledge" : verb, changed);
  }

  search({
    label: "Search incidents",
    value: filter().q,
    onInput(q) {
      clearTimeout(timer);
      timer = window.setTimeout(() => change({ q }), SEARCH_DELAY);
    },
  });
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
  listenToSwipes(list, signal, (direction, start) => {
    selectedId = Number(/** @type {HTMLElement | null} */ (start.closest("[data-incident]"))?.dataset.incident) || null;
    actOnSelected(direction === "right" ? "acknowledge" : "close");
  });
  onQuery(() => void reload());
  const refresh = throttled(signal, REFRESH, reload);
  listen(signal, { incident: changed, reconnected: refresh });
  draw();
}

/** @param {IncidentView} incident */
const isUnacknowledged = ({ state, acknowledged_at: at }) => state === "open" && at === null;

/** Whether an incident still belongs to the tab and the filters, as far as a change can tell. @param {IncidentView} incident @param {Filter} filter */
function belongs(incident, { state, severity, run }) {
  const inTab = state === "all" || (state === "waiting" ? isUnacknowledged(incident) : incident.state === state);
  return inTab && (!severity || incident.severity === severity) && (!run || incident.run_id === run);
}

/** @param {IncidentView[]} incidents @param {(incident: IncidentView) => void} changed */
function daySections(incidents, changed) {
  return groupByDay(incidents).map(({ day: name, runs }) =>
    h(
      "section",
      { class: "inbox-day", "aria-label": name },
      h("h2", {}, name),
      runs.map((run) => runSection(run, changed)),
    ),
  );
}

/** @param {ReturnType<typeof groupByDay>[number]["runs"][number]} run @param {(incident: IncidentView) => void} changed */
function runSection({ id, name, project, incidents }, changed) {
  return h(
    "section",
    { class: "inbox-run-group", "aria-label": name },
    h(
      "h3",
      {},
      id === null ? name : link(`/runs/${encodeURIComponent(id)}`, { class: "inbox-run" }, name),
      project && h("span", { class: "quiet" }, ` ${project}`),
    ),
    h("ul", { class: "inbox-rows" }, incidents.map((incident) => row(incident, changed))),
  );
}

/** The controls that filter the list. @param {IncidentPage} page @param {Filter} filter @param {(changes: Partial<Filter>) => void} change */
function filters({ incidents, counts }, filter, change) {
  const stateButtons = TABS.map(([key, text, counted]) =>
    toggleButton(key === filter.state, () => change({ state: key === "waiting" ? "" : key }), [
      text,
      h("span", { class: "quiet number" }, ` ${counts[counted]}`),
    ]),
  );
  const severityButtons = ["", ...severities()].map((severity) =>
    toggleButton(severity === filter.severity, () => change({ severity: severity }), [
      severity ? severityMark(severity) : "Any",
    ]),
  );
  const timeButtons = TIMES.map(([time, text]) => toggleButton(time === filter.time, () => change({ time }), [text]));
  return [
    h("div", { class: "segmented", role: "group", "aria-label": "State" }, stateButtons),
    h("div", { class: "segmented", role: "group", "aria-label": "Severity" }, severityButtons),
    h("div", { class: "segmented", role: "group", "aria-label": "Time" }, timeButtons),
    filter.run && runChip(incidents, filter.run, change),
  ];
}

/** @param {boolean} pressed @param {() => void} click @param {import("../lib/dom.js").Child[]} children */
const toggleButton = (pressed, click, children) =>
  h("button", { type: "button", "aria-pressed": String(pressed), on: { click } }, children);

/** @param {IncidentView[]} incidents @param {string} id @param {(changes: Partial<Filter>) => void} change */
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
  const waiting = isUnacknowledged(incident) ? " inbox-unacknowledged" : "";
  const { began_at: began, acknowledged_by: by, assignee } = incident;
  return h(
    "li",
    {
      class: `inbox-item severity-edge-${incident.severity} incident-${incident.state}${waiting}`,
      data: { incident: String(incident.id) },
    },
    h("time", { class: "inbox-time number quiet", title: clock(began) }, timeOfDay(began)),
    h(
      "div",
      { class: "inbox-text" },
      incidentLine(incident),
      link(`/incidents/${incident.id}`, { class: "inbox-summary" }, incident.summary),
      h(
        "p",
        { class: "quiet" },
        `${incidentStateText(incident)}${by ? ` by ${by}` : ""}${assignee ? ` · assigned to ${assignee}` : ""} · `,
        h("time", { title: clock(began), data: { ago: String(began) } }, ago(began)),
      ),
    ),
    h("div", { class: "inbox-actions" }, rowActions(incident, changed)),
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

/**
 * Why the list is empty, and the next step.
 * @param {Filter} filter @param {boolean} none there is no incident in any state
 * @param {(changes: Partial<Filter>) => void} change
 */
function emptyState(filter, none, change) {
  const click = () => change({ q: "", severity: "", run: "", time: "", state: "all" });
  const all = h("button", { type: "button", class: "button", on: { click } }, "Show all incidents");
  if (filter.q || filter.severity || filter.run || filter.time)
    return empty("No matching incidents", "No incident matches the search and the filters.", null, all);
  if (filter.state === "all" || none)
    return empty(
      "No incidents",
      "Holter has detected no incidents in any run. To see where notifications go:",
      "holter alert list",
    );
  if (filter.state !== "waiting") return empty("No matching incidents", "No incident is in this state.", null, all);
  return empty("All acknowledged", "Every open incident has been acknowledged.", null, all);
}
