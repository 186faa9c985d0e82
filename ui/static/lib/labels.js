// @ts-check
/** Kinds, severities and states in the words and shapes that people see. */

import { h } from "./dom.js";
import { icon } from "./icons.js";

/** @type {Record<string, string>} */
const KINDS = {
  spike_fast: "Fast spike",
  spike_slow: "Slow spike",
  spike_unrecovered: "Spike, not recovered",
  divergence: "Divergence",
  nonfinite: "NaN or infinity",
  resume_artifact: "Resume artifact",
  repeated_data: "Repeated data",
  throughput_regression: "Throughput regression",
  straggler: "Straggler",
  comm_slowdown: "Slow communication",
  desync: "Ranks out of step",
  stall: "Stall",
  loss_scale_collapse: "Loss scale collapse",
  mixture_shift: "Mixture shift",
  sudden_drop: "Sudden drop",
  outlier_batch: "Outlier batch",
  hidden_nonfinite: "Hidden NaN",
  memory_leak: "Memory leak",
  gpu_fault: "GPU fault",
};

/** @type {Record<string, string>} */
const HEALTH = { ok: "Healthy", info: "Notable", warning: "Warning", critical: "Critical" };
const RANK = ["critical", "warning", "info", "ok"];

/** Every kind, in the order in which people are asked. */
export const KIND_NAMES = Object.keys(KINDS);

/** @param {string} kind */
export const kindTitle = (kind) => KINDS[kind] ?? sentence(kind);

const SO_FAR = /** @type {Record<string, string>} */ ({
  spike_fast: "Spike, so far fast",
  spike_slow: "Spike, so far slow",
});

/**
 * The name of an incident. While it lasts and may still turn out to be another kind, the name says so.
 * @param {{ kind: string, state: string, classified_step?: number | null }} incident
 */
export function incidentTitle({ kind, state, classified_step: settled = null }) {
  return (state === "open" && settled === null && SO_FAR[kind]) || kindTitle(kind);
}

/** `recovery_steps` as people write it. @param {string} name */
export function sentence(name) {
  const words = name.replaceAll("_", " ").trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** 0 for the worst. @param {string} severity */
export const severityRank = (severity) => RANK.indexOf(severity);

/** @param {string} health */
export const healthWord = (health) => HEALTH[health] ?? sentence(health);

/** Icon and word for a severity; the colour only repeats what they say. @param {string} severity @param {string} [text] */
export function severityMark(severity, text = healthWord(severity)) {
  return h("span", { class: `severity severity-${severity}` }, icon(severity), h("span", {}, text));
}

/** @param {import("./api_types.js").RunState} state */
export function stateMark(state) {
  return h("span", { class: `state state-${state}` }, icon(state), h("span", {}, sentence(state)));
}

/** Where an incident stands in its life, in one or two words. @param {import("./api_types.js").IncidentView} incident */
export function lifeWord(incident) {
  if (incident.state !== "open") return sentence(incident.state);
  return incident.acknowledged_at ? "Acknowledged" : "Open";
}
