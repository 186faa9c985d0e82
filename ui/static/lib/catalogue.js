// @ts-check
/**
 * The findings catalogue that the server sends with the session: titles of kinds, fields of evidence, severities,
 * units of metrics. A kind or field that is not in it is shown by its key.
 */

import { sentenceCase } from "./format.js";

/** @typedef {import("./api_types.js").FindingsCatalogue} FindingsCatalogue */
/** @typedef {import("./api_types.js").CatalogueKind} CatalogueKind */
/** @typedef {import("./api_types.js").CatalogueField} CatalogueField */

/** @type {FindingsCatalogue} */
let catalogue = { kinds: {}, fields: {}, severities: [], metric_units: {} };
/** @type {Map<string, [RegExp, string][]>} rules for units by role */
let unitRules = new Map();

/** Use the catalogue of the server. @param {FindingsCatalogue} received */
export function setCatalogue(received) {
  catalogue = received;
  const roles = Object.entries(received.metric_units);
  unitRules = new Map(
    roles.map(([role, rules]) => [role, rules.map(([pattern, unit]) => [RegExp(pattern), unit])]),
  );
}

/** All kinds, in the order of lists. */
export const kinds = () => Object.keys(catalogue.kinds);

/** The entry of a kind, undefined if unknown. @param {string} kind @returns {CatalogueKind | undefined} */
export const catalogueKind = (kind) => catalogue.kinds[kind];

/** The title of a kind, of an incident on this metric. @param {string} kind @param {string} metric */
export function kindTitle(kind, metric = "") {
  const known = catalogueKind(kind);
  const name = metric.toLowerCase();
  const exact = metric && known?.metric_titles.find(([pattern]) => RegExp(pattern).test(name));
  return exact ? exact[1] : (known?.title ?? sentenceCase(kind));
}

/**
 * The title of an incident; a provisional one while an open incident may still become another kind.
 * @param {{ kind: string, metric?: string, state: string, classified_step?: number | null }} incident
 */
export function incidentTitle({ kind, metric = "", state, classified_step: classified = null }) {
  const provisional = state === "open" && classified === null && catalogueKind(kind)?.provisional_title;
  return provisional || kindTitle(kind, metric);
}

/**
 * The title of an incident with its clear causes first: "Learning rate rise, then loss spike".
 * @param {Parameters<typeof incidentTitle>[0] & { causes?: { title: string, clear: boolean }[] }} incident
 */
export function titleWithCauses(incident) {
  const title = incidentTitle(incident);
  const named = (incident.causes ?? []).filter(({ clear }) => clear).map((cause) => cause.title);
  if (named.length === 0) return title;
  const [first, ...others] = named;
  return `${[first, ...others.map(inSentence)].join(" and ")}, then ${inSentence(title)}`;
}

/** A title within a sentence: in lower case, unless it begins with an abbreviation. @param {string} title */
function inSentence(title) {
  const rest = title.split(" ")[0].slice(1);
  return rest === rest.toLowerCase() ? title[0].toLowerCase() + title.slice(1) : title;
}

/** The entry of an evidence field; an unknown field has a label made of its key. @param {string} key @returns {CatalogueField} */
export const evidenceField = (key) =>
  catalogue.fields[key] ?? {
    label: sentenceCase(key),
    format: "number",
    noun: "",
    suffix: "",
    minimum: 0,
    unless: "",
  };

/** 0 for the most severe; the largest number for what is no severity, such as "ok". @param {string} severity */
export function severityRank(severity) {
  const index = catalogue.severities.findIndex(({ name }) => name === severity);
  return index < 0 ? catalogue.severities.length : index;
}

/** All severities, the most severe first. */
export const severities = () => catalogue.severities.map(({ name }) => name);

/** The title of a severity or of the health "ok". @param {string} health */
export function healthTitle(health) {
  if (health === "ok") return "Healthy";
  return catalogue.severities.find(({ name }) => name === health)?.title ?? sentenceCase(health);
}

/** The unit of a metric of this role; empty if its name does not state one. @param {string} role @param {string} metric */
export function metricUnit(role, metric) {
  const name = metric.toLowerCase();
  const rules = unitRules.get(role) ?? unitRules.get("") ?? [];
  return rules.find(([pattern]) => pattern.test(name))?.[1] ?? "";
}
