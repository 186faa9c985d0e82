// @ts-check
/** One event on one time line: what was changed, where it is safe to go back to, and the linked incidents. */

import { incidentTitle, severityRank } from "../lib/catalogue.js";
import { h, link } from "../lib/dom.js";
import { ago, clock, count, step as stepText } from "../lib/format.js";
import { icon } from "../lib/icons.js";

/** @typedef {import("../lib/api_types.js").IncidentEvent} IncidentEvent */
/** @typedef {import("../lib/api_types.js").RunChange} RunChange */
/** @typedef {import("../lib/api_types.js").LinkedIncident} LinkedIncident */

/** @type {Record<string, [string, string]>} icon and word of each category of change */
const CATEGORIES = {
  restart: ["restart", "Restart"],
  setting: ["settings", "Setting"],
  learning_rate: ["pulse", "Learning rate"],
  batch_size: ["compare", "Batch or sequence"],
  mixture: ["compare", "Data mixture"],
  hardware: ["hardware", "Hardware"],
  planned: ["planned", "Planned"],
  other: ["info", "Change"],
};
const MIN_CAUSE = 0.5; // probability from which a change is marked as a probable cause

/**
 * @typedef {{ attempt: number, step: number, order: number } &
 *   ({ change: RunChange } | { incident: LinkedIncident } | { safe: number })} TimelineEntry
 */

/**
 * Changes, the safe step and the incidents in the order in which they happened. The safe step comes before
 * everything at later steps of its attempt. Pure.
 * @param {IncidentEvent} event @param {RunChange[]} changes @returns {TimelineEntry[]}
 */
export function timelineEntries(event, changes) {
  const attempt = event.incidents[0]?.attempt ?? 0;
  /** @type {TimelineEntry[]} */
  const entries = [
    ...changes.map((change) => ({ attempt: change.attempt, step: change.step, order: 1, change })),
    ...event.incidents.map((incident) => ({ attempt: incident.attempt, step: incident.start_step, order: 2, incident })),
  ];
  if (event.rollback_step !== null)
    entries.push({ attempt, step: event.rollback_step, order: 0, safe: event.rollback_step });
  return entries.sort((a, b) => a.attempt - b.attempt || a.step - b.step || a.order - b.order);
}

/**
 * @param {IncidentEvent} event @param {RunChange[]} changes @param {number} [current] the incident whose page this is
 */
export function eventTimeline(event, changes, current) {
  return h(
    "ol",
    { class: "event-timeline" },
    timelineEntries(event, changes).map((entry) => {
      if ("safe" in entry) return safeItem(entry.safe);
      return "incident" in entry ? incidentItem(entry.incident, current) : changeItem(entry.change);
    }),
  );
}

/** @param {number} step */
const safeItem = (step) =>
  item(
    "timeline-safe",
    step,
    "rollback",
    h("b", {}, "Last safe step"),
    h("span", { class: "quiet" }, "for a checkpoint to go back to"),
  );

/** @param {RunChange} change */
function changeItem({ category, step, time, text, cause }) {
  const [image, word] = CATEGORIES[category] ?? CATEGORIES.other;
  const probable = cause >= MIN_CAUSE;
  return item(
    probable ? "timeline-cause" : "timeline-change",
    step,
    image,
    h(probable ? "b" : "span", {}, text),
    h(
      "span",
      { class: "quiet" },
      probable ? `Probable cause (${Math.floor(100 * cause)}\u202f%)` : word,
      time !== null && " · ",
      time !== null && h("time", { title: clock(time), data: { ago: String(time) } }, ago(time)),
    ),
  );
}

/** @param {LinkedIncident} incident @param {number | undefined} current */
function incidentItem(incident, current) {
  const { id, severity, start_step: step, state } = incident;
  const here = id === current;
  const title = incidentTitle(incident);
  return item(
    `timeline-incident severity-${severity}${here ? " timeline-here" : ""}`,
    step,
    severity,
    here ? h("b", { "aria-current": "true" }, title) : link(`/incidents/${id}`, {}, title),
    h("span", { class: "quiet" }, here ? `This incident, ${state}` : `${incident.summary} (${state})`),
  );
}

/** @param {string} className @param {number} step @param {string} image @param {...Node} texts */
const item = (className, step, image, ...texts) =>
  h(
    "li",
    { class: `timeline-item ${className}` },
    h("span", { class: "timeline-step number quiet" }, stepText(step)),
    h("span", { class: "timeline-mark" }, icon(image)),
    h("div", { class: "timeline-text" }, ...texts),
  );

/** The incidents of an event in a few words: "Slow loss spike, then NaN or infinity". Pure. @param {IncidentEvent} event */
export function eventTitle({ incidents }) {
  const titles = [...new Set(incidents.map((incident) => incidentTitle(incident)))];
  const [first, ...others] = titles;
  if (others.length === 0) return incidents.length > 1 ? `${first}, ${count(incidents.length, "time")}` : first;
  const then = others.slice(0, 2).map((title) => (title.startsWith("NaN") ? title : title.charAt(0).toLowerCase() + title.slice(1)));
  return `${first}, then ${then.join(", ")}${others.length > 2 ? " and more" : ""}`;
}

/** The most severe first. Pure. @param {LinkedIncident[]} incidents */
export const bySeverity = (incidents) =>
  [...incidents].sort((a, b) => severityRank(a.severity) - severityRank(b.severity));
