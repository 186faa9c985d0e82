// @ts-check
/** Severity, run state and incident state as an icon with a text. */

import { healthTitle } from "./catalogue.js";
import { h } from "./dom.js";
import { sentenceCase } from "./format.js";
import { icon } from "./icons.js";

/** A severity or health with its icon. @param {string} severity @param {string} [text] */
export function severityMark(severity, text = healthTitle(severity)) {
  return h("span", { class: `severity severity-${severity}` }, icon(severity), h("span", {}, text));
}

/** @param {import("./api_types.js").RunState} state */
export function stateMark(state) {
  return h("span", { class: `state state-${state}` }, icon(state), h("span", {}, sentenceCase(state)));
}

/** The state of an incident, as text. @param {import("./api_types.js").IncidentView} incident */
export function incidentStateText(incident) {
  if (incident.state !== "open") return sentenceCase(incident.state);
  return incident.acknowledged_at ? "Acknowledged" : "Open";
}
