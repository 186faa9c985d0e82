// @ts-check
/** The inbox: every incident of every run, what waits for a person first. */

import * as api from "../api.js";
import { announce, h, link, refill } from "../dom.js";
import { ago, clock, count } from "../format.js";
import { icon } from "../icons.js";
import { actOn, placeLine } from "../incident_parts.js";
import * as keys from "../keys.js";
import { listen, throttled } from "../live.js";
import { go } from "../router.js";
import { empty } from "../states.js";
import { kindTitle, lifeWord, severityMark, severityRank } from "../words.js";

/** @typedef {import("../types.js").Incident} Incident */

const REFRESH = 2000; // ms
/** @type {[string, string, (incident: Incident) => boolean][]} */
const TABS = [
  ["waiting", "Waiting", (one) => one.state === "open" && one.acknowledged_at === null],
  ["open", "Open", (one) => one.state === "open"],
  ["recovered", "Recovered", (one) => one.state === "recovered"],
  ["closed", "Closed", (one) => one.state === "closed"],
  ["all", "All", () => true],
];

/** @param {string} name */
const tabOf = (name) => TABS.find(([key]) => key === name) ?? TABS[0];

/** @param {Incident} incident @param {{ q: string, severity: string, run: string }} filter */
export function matches(incident, { q, severity, run }) {
  const text =
    `${incident.run} ${incident.project} ${kindTitle(incident.kind)} ${incident.kind} ${incident.metric} ${incident.summary}`.toLowerCase();
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

/** Open ones first, the worst of them first, then the newest. Pure. @param {Incident} a @param {Incident} b */
export const inOrder = (a, b) =>
  STATES.indexOf(a.state) - STATES.indexOf(b.state) ||
  severityRank(a.severity) - severityRank(b.severity) ||
  b.opened_at - a.opened_at;

/** @type {import("../router.js").View} */
export async function show(root, { signal, query, setQuery, onQuery, search, title }) {
  let incidents = await api.incidents({ state: "all" }, signal);
  /** @type {number | null} */
  let chosen = null;
  const heading = h("h1", {});
  const controls = h("div", { class: "controls" });
  const list = h("ul", { class: "inbox" });

  const filter = () => {
    const now = query();
    return {
      q: now.get("q") ?? "",
      state: now.get("state") ?? "waiting",
      severity: now.get("severity") ?? "",
      run: now.get("run") ?? "",
    };
  };

  /** @param {Record<string, string>} changes */
  function change(changes) {
    setQuery(changes);
    draw();
  }

  const shown = () => {
    const wanted = filter();
    return incidents.filter((one) => tabOf(wanted.state)[2](one) && matches(one, wanted)).sort(inOrder);
  };

  function draw() {
    const wanted = filter();
    const items = shown();
    const waiting = incidents.filter(TABS[0][2]).length;
    title(waiting ? `${waiting} waiting` : "Incidents");
    refill(
      heading,
      waiting
        ? `${count(waiting, "incident waits", "incidents wait")} for someone`
        : "Nothing waits for anyone",
    );
    drawControls(wanted);
    const focused = Number(
      /** @type {HTMLElement | null} */ (document.activeElement?.closest?.("[data-incident]") ?? null)
        ?.dataset.incident,
    );
    refill(list, items.length ? items.map(item) : nothing(wanted));
    if (!list.isConnected) refill(root, h("header", { class: "page-head" }, heading, controls), list);
    if (focused)
      list
        .querySelector(`[data-incident="${focused}"]`)
        ?.querySelector("button")
        ?.focus({ preventScroll: true });
    mark();
  }

  /** @param {ReturnType<typeof filter>} wanted */
  function drawControls(wanted) {
    const runName = wanted.run ? (incidents.find((one) => one.run_id === wanted.run)?.run ?? wanted.run) : "";
    refill(
      controls,
      h(
        "div",
        { class: "segmented", role: "group", "aria-label": "State" },
        TABS.map(([key, text, belongs]) =>
          h(
            "button",
            {
              type: "button",
              "aria-pressed": String(key === wanted.state),
              on: { click: () => change({ state: key === "waiting" ? "" : key }) },
            },
            text,
            h("span", { class: "quiet number" }, ` ${incidents.filter(belongs).length}`),
          ),
        ),
      ),
      h(
        "div",
        { class: "segmented", role: "group", "aria-label": "Severity" },
        ["", "critical", "warning", "info"].map((one) =>
          h(
            "button",
            {
              type: "button",
              "aria-pressed": String(one === wanted.severity),
              on: { click: () => change({ severity: one }) },
            },
            one ? severityMark(one) : "Any",
          ),
        ),
      ),
      runName &&
        h(
          "button",
          {
            type: "button",
            class: "chip",
            "aria-label": `Only ${runName}. Show all runs`,
            on: { click: () => change({ run: "" }) },
          },
          runName,
          icon("close"),
        ),
    );
  }

  /** @param {Incident} incident */
  function item(incident) {
    const waits = incident.state === "open" && incident.acknowledged_at === null;
    const verb = incident.acknowledged_at === null ? "acknowledge" : "unacknowledge";
    return h(
      "li",
      {
        class: `inbox-item severity-edge-${incident.severity} incident-${incident.state}${waits ? " inbox-waiting" : ""}`,
        data: { incident: String(incident.id) },
      },
      h(
        "div",
        { class: "inbox-about" },
        placeLine(incident),
        link(`/incidents/${incident.id}`, { class: "inbox-sentence" }, incident.summary),
        h(
          "p",
          { class: "quiet" },
          link(
            `/runs/${encodeURIComponent(incident.run_id)}?incident=${incident.id}`,
            { class: "inbox-run" },
            incident.run,
          ),
          ` · ${incident.project} · ${lifeWord(incident)}`,
          incident.acknowledged_by ? ` by ${incident.acknowledged_by}` : "",
          " · ",
          h(
            "time",
            { title: clock(incident.opened_at), data: { ago: String(incident.opened_at) } },
            ago(incident.opened_at),
          ),
        ),
      ),
      incident.state === "open" &&
        h(
          "button",
          { type: "button", class: "button", on: { click: () => void actOn(incident, verb, changed) } },
          waits ? "Acknowledge" : "Withdraw",
        ),
      incident.state === "closed"
        ? h(
            "button",
            { type: "button", class: "button", on: { click: () => void actOn(incident, "reopen", changed) } },
            "Reopen",
          )
        : h(
            "button",
            { type: "button", class: "button", on: { click: () => void actOn(incident, "close", changed) } },
            "Close",
          ),
    );
  }

  /** @param {Incident} incident */
  function changed(incident) {
    const before = shown().findIndex((one) => one.id === chosen);
    const known = incidents.some((one) => one.id === incident.id);
    incidents = known
      ? incidents.map((one) => (one.id === incident.id ? incident : one))
      : [...incidents, incident];
    if (!known && incident.state === "open") announce(incident.summary);
    const items = shown();
    if (before >= 0 && !items.some((one) => one.id === chosen))
      chosen = items[Math.min(before, items.length - 1)]?.id ?? null;
    draw();
  }

  /** @param {ReturnType<typeof filter>} wanted */
  function nothing(wanted) {
    const narrowed = wanted.q || wanted.severity || wanted.run || wanted.state !== "waiting";
    if (incidents.length === 0)
      return h(
        "li",
        {},
        empty(
          "No incidents",
          "Holter has found nothing worth a word in any run. Test that it would reach you:",
          "holter alert test",
        ),
      );
    if (!narrowed)
      return h(
        "li",
        {},
        empty(
          "Nothing waits",
          "Every open incident has been acknowledged.",
          null,
          h(
            "button",
            { type: "button", class: "button", on: { click: () => change({ state: "all" }) } },
            "Show all incidents",
          ),
        ),
      );
    return h(
      "li",
      {},
      empty(
        "No incident matches",
        "Nothing fits this search and these filters.",
        null,
        h(
          "button",
          {
            type: "button",
            class: "button",
            on: { click: () => change({ q: "", severity: "", run: "", state: "all" }) },
          },
          "Show all incidents",
        ),
      ),
    );
  }

  function mark() {
    for (const element of list.querySelectorAll("[data-incident]"))
      element.classList.toggle(
        "row-chosen",
        Number(/** @type {HTMLElement} */ (element).dataset.incident) === chosen,
      );
  }

  /** @param {number} by */
  function move(by) {
    const items = shown();
    if (items.length === 0) return;
    const at = items.findIndex((one) => one.id === chosen);
    chosen = items[Math.max(0, Math.min(items.length - 1, at < 0 ? 0 : at + by))].id;
    mark();
    list.querySelector(".row-chosen")?.scrollIntoView({ block: "nearest" });
    announce(items.find((one) => one.id === chosen)?.summary ?? "");
  }

  /** @param {"acknowledge" | "close"} verb */
  function actOnChosen(verb) {
    const incident = incidents.find((one) => one.id === chosen);
    if (!incident || incident.state === "closed") return;
    void actOn(
      incident,
      verb === "acknowledge" && incident.acknowledged_at !== null ? "unacknowledge" : verb,
      changed,
    );
  }

  search({ label: "Find an incident", value: filter().q, onInput: (q) => change({ q }) });
  keys.bind(signal, [
    { keys: "j, ArrowDown", label: "Next incident", run: () => move(1) },
    { keys: "k, ArrowUp", label: "Previous incident", run: () => move(-1) },
    {
      keys: "Enter, o",
      label: "Open the incident",
      run: () => chosen !== null && go(`/incidents/${chosen}`),
    },
    { keys: "a", label: "Acknowledge", run: () => actOnChosen("acknowledge") },
    { keys: "e", label: "Close", run: () => actOnChosen("close") },
  ]);
  onQuery(draw);
  const refresh = throttled(signal, REFRESH, async () => {
    incidents = await api.incidents({ state: "all" }, signal);
    draw();
  });
  listen(signal, { incident: changed, reconnected: refresh });
  draw();
}
