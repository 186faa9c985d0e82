// @ts-check
/** The events of a run above its incidents: linked incidents as one story, with one safe step, and all changes. */

import { eventTimeline, eventTitle } from "./event_timeline.js";
import * as api from "../lib/api.js";
import { severityMark } from "../lib/badges.js";
import { h, link, refill } from "../lib/dom.js";
import { count, step as stepText } from "../lib/format.js";
import { icon } from "../lib/icons.js";
import { throttled } from "../lib/live.js";

/** @typedef {import("../lib/api_types.js").RunEvents} RunEvents */
/** @typedef {import("../lib/api_types.js").IncidentEvent} IncidentEvent */

const REFRESH = 3000; // ms

/** The events that are worth a card: open ones with several incidents or a step to go back to. Pure. @param {IncidentEvent[]} events */
export const shownEvents = (events) =>
  events.filter((event) => event.is_open && (event.incidents.length > 1 || event.rollback_step !== null));

/** @param {{ runId: string, signal: AbortSignal }} options */
export function createRunEvents({ runId, signal }) {
  const element = h("section", { class: "run-events", "aria-label": "Open events", hidden: true });

  const refresh = throttled(signal, REFRESH, async () => {
    const { events, changes } = await api.eventsOf(runId, signal);
    const shown = shownEvents(events);
    element.hidden = shown.length === 0;
    const opened = new Set(
      [...element.querySelectorAll("details[open]")].map((details) => /** @type {HTMLElement} */ (details).dataset.event),
    );
    refill(element, ...shown.map((event) => eventCard(event, changesBefore(event, changes), opened)));
  });
  return { element, refresh };
}

/** Changes up to the last incident of an event. @param {IncidentEvent} event @param {RunEvents["changes"]} changes */
function changesBefore({ incidents }, changes) {
  const last = incidents[incidents.length - 1];
  return changes.filter(({ attempt, step }) => attempt < last.attempt || (attempt === last.attempt && step <= last.start_step));
}

/** @param {IncidentEvent} event @param {RunEvents["changes"]} changes @param {Set<string | undefined>} opened */
function eventCard(event, changes, opened) {
  const [first] = event.incidents;
  const entries = event.incidents.length + changes.length;
  return h(
    "div",
    { class: `run-event severity-edge-${event.severity}` },
    h("p", { class: "run-event-title" }, severityMark(event.severity, ""), link(`/incidents/${first.id}`, {}, eventTitle(event))),
    event.rollback_step !== null &&
      h(
        "p",
        { class: "rollback" },
        icon("rollback"),
        h("span", {}, "Last safe step ", h("b", { class: "number" }, stepText(event.rollback_step))),
      ),
    entries > 1 && h(
      "details",
      { data: { event: String(first.id) }, open: opened.has(String(first.id)) },
      h("summary", {}, `Time line of ${count(entries, "entry", "entries")}`),
      eventTimeline(event, changes),
    ),
  );
}
