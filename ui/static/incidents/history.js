// @ts-check
/** The history of an incident in words: what changed, who did what, who was notified by which channel. */

import { evidenceText } from "./evidence.js";
import { evidenceField, incidentTitle, kindTitle } from "../lib/catalogue.js";
import { h } from "../lib/dom.js";
import { ago, clock, sentenceCase } from "../lib/format.js";
import { notificationReason } from "../lib/notification_reasons.js";

/** @typedef {import("../lib/api_types.js").IncidentView} IncidentView */
/** @typedef {import("../lib/api_types.js").IncidentHistoryEntry} IncidentHistoryEntry */

/** @type {Record<string, string>} */
const EVENTS = {
  opened: "Opened",
  reclassified: "Reclassified",
  escalated: "Severity raised",
  recovered: "Recovered",
  acknowledged: "Acknowledged",
  unacknowledged: "Unacknowledged",
  muted: "Muted",
  unmuted: "No longer muted",
  assigned: "Assigned",
  closed: "Closed",
  eased: "Severity lowered",
  moved: "Onset corrected",
  withdrawn: "No longer detected",
  reopened: "Reopened",
  comment: "Comment",
  notified: "Notification sent",
  undelivered: "Not delivered",
};

/** The history of an incident, oldest first. @param {IncidentView} incident */
export function history(incident) {
  return h(
    "ol",
    { class: `history severity-edge-${incident.severity}` },
    incident.events.map((event) => {
      const [heading, text] = eventText(event, incident);
      return h(
        "li",
        { class: `event event-${event.type}` },
        h(
          "div",
          {},
          h("b", {}, heading),
          h("span", {}, event.by ? ` by ${event.by}` : ""),
          " ",
          h("time", { class: "quiet", title: clock(event.at), data: { ago: String(event.at) } }, ago(event.at)),
        ),
        text.map((line, i) => h("p", { class: i === 0 ? "event-text" : "quiet" }, line)),
      );
    }),
  );
}

/**
 * The heading and the lines of an entry. Pure.
 * @param {IncidentHistoryEntry} event @param {IncidentView} incident @returns {[string, string[]]}
 */
export function eventText(event, incident) {
  const { type, text, detail } = event;
  const channel = typeof detail?.channel === "string" ? detail.channel : null;
  if (channel !== null && (type === "notified" || type === "undelivered")) {
    const why = notificationReason(String(detail.reason));
    const failure = text.includes(": ") ? text.slice(text.indexOf(": ") + 2) : "";
    if (type === "notified") return [`Sent to ${channel}`, [`because ${why}`]];
    return [`Not delivered to ${channel}`, [failure, `because ${why}`].filter(Boolean)];
  }
  if (type === "muted") return ["Muted", [typeof detail.until === "number" ? `until ${clock(detail.until)}` : "until it recovers"]];
  if (type === "assigned") return [detail?.assignee ? `Assigned to ${detail.assignee}` : "Assigned to nobody", []];
  return [EVENTS[type] ?? sentenceCase(type), [text, detailText(event, incident)].filter(Boolean)];
}

/** @param {IncidentHistoryEntry} event @param {IncidentView} incident */
function detailText({ detail }, incident) {
  if (!detail) return "";
  const kinds = [detail.from_kind ?? detail.from, detail.to_kind ?? detail.to].filter(
    (kind) => typeof kind === "string",
  );
  if (kinds.length === 2) return `${kindTitle(kinds[0], incident.metric)} became ${kindTitle(kinds[1], incident.metric).toLowerCase()}`;
  return Object.entries(detail)
    .filter(([, value]) => value !== null && typeof value !== "object")
    .map(([name, value]) =>
      name === "kind"
        ? incidentTitle({ kind: String(value), metric: incident.metric, state: "open" })
        : `${sentenceCase(name).toLowerCase()} ${evidenceText(evidenceField(name), value, incident)}`,
    )
    .join(", ");
}
