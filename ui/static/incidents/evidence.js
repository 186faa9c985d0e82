// @ts-check
/** The evidence of an incident as labels and texts with units, by the findings catalogue. Pure. */

import { catalogueKind, evidenceField, kindTitle, metricUnit } from "../lib/catalogue.js";
import {
  clock,
  count,
  duration,
  number,
  numbersApart,
  percent,
  sentenceCase,
  seriesName,
  step as stepText,
} from "../lib/format.js";

/** @typedef {import("../lib/api_types.js").IncidentView} IncidentView */
/** @typedef {import("../lib/catalogue.js").CatalogueField} CatalogueField */
/** @typedef {Pick<IncidentView, "kind" | "metric" | "evidence">} Finding */

/**
 * Labels and texts of the evidence; values that state nothing are left out.
 * @param {Finding} finding @returns {[string, string][]}
 */
export function evidenceRows(finding) {
  return Object.entries(finding.evidence).flatMap(([key, value]) => {
    const field = evidenceField(key);
    if (!isShown(field, value, finding.evidence)) return [];
    return [/** @type {[string, string]} */ ([field.label, evidenceText(field, value, finding)])];
  });
}

/** Whether a value is shown. @param {CatalogueField} field @param {unknown} value @param {Record<string, unknown>} evidence */
function isShown(field, value, evidence) {
  if (field.format === "hidden" || value === null || value === undefined || value === "") return false;
  if (field.unless in evidence) return false;
  if (Array.isArray(value)) return value.length >= Math.max(1, field.minimum);
  if (typeof value === "object") return Object.keys(value).length >= Math.max(1, field.minimum);
  return !(typeof value === "number" && field.minimum > 0 && value < field.minimum);
}

/** A value in the format of its field. @param {CatalogueField} field @param {unknown} value @param {Finding} finding @returns {string} */
export function evidenceText(field, value, finding) {
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") return quantityText(field, value, finding) + field.suffix;
  if (field.format === "references") return [value].flat().map(referenceText).join("; ");
  if (field.format === "related_changes" && Array.isArray(value)) return value.map(changeText).join("; ");
  if (field.format === "change" && Array.isArray(value) && value.length === 2)
    return `${number(value[0], 3)} to ${number(value[1], 3)}`;
  if (field.format === "shares" && isRecord(value)) return sharesText(value);
  return plainText(value);
}

/** A number with its unit. @param {CatalogueField} field @param {number} value @param {Finding} finding @returns {string} */
function quantityText({ format, noun }, value, { kind, metric, evidence }) {
  const relativeNoise = format === "noise" && catalogueKind(kind)?.relative_noise;
  if (format === "share" || relativeNoise) return percent(value, value < 0.9995 ? 1 : 0);
  if (format === "count") return Number.isInteger(value) ? count(value, noun) : `${number(value)} ${noun}s`;
  if (format === "multiple") return `${number(value, 3)} times`;
  if (format === "seconds") return duration(value);
  if (format === "milliseconds") return duration(value / 1000);
  if (format === "clock") return clock(value);
  if (format === "growth") return `${number(value, 3)} ${evidence.unit ?? ""}`.trim();
  if (format === "time") return `${number(value)} ${metricUnit("step_time", metric)}`.trim();
  if (format === "level") return `${levelText(value, evidence)} ${levelUnit({ kind, metric, evidence })}`.trim();
  return plainText(value);
}

const LEVELS = ["baseline", "peak", "worst", "lowest", "level"];

/** A level with as many digits as it takes to see that it differs from the others. @param {number} value @param {Finding["evidence"]} evidence */
function levelText(value, evidence) {
  const others = LEVELS.map((key) => evidence[key]).filter((level) => typeof level === "number" && level !== value);
  return numbersApart([.../** @type {number[]} */ (others), value], 4)[others.length];
}

/** The unit of an incident's levels. @param {Finding} finding @returns {string} */
export function levelUnit({ kind, metric, evidence }) {
  if (evidence.unit) return String(evidence.unit);
  const role = catalogueKind(kind)?.unit_role;
  return role ? metricUnit(role, metric) : "";
}

/** The largest share first. @param {Record<string, unknown>} shares */
function sharesText(shares) {
  return Object.entries(shares)
    .sort(([, share], [, otherShare]) => Number(otherShare) - Number(share))
    .map(([name, share]) => `${name} ${percent(Number(share))}`)
    .join(", ");
}

/** A reference to another finding; older versions stored a text, which is shown as it is. @param {unknown} reference @returns {string} */
function referenceText(reference) {
  if (!isRecord(reference) || typeof reference.kind !== "string")
    return catalogueKind(String(reference)) ? kindTitle(String(reference)) : String(reference);
  const { kind, metric, start_step: start, labels } = reference;
  const step = typeof start === "number" ? ` at step ${stepText(start)}` : "";
  const series = metric
    ? ` (${seriesName({ metric: String(metric), labels: isRecord(labels) ? labels : {} })})`
    : "";
  return `${kindTitle(kind, String(metric ?? ""))}${step}${series}`;
}

/** A change of another metric or of the run. @param {unknown} change @returns {string} */
function changeText(change) {
  if (!isRecord(change) || typeof change.what !== "string") return plainText(change);
  const { what, before, value, step } = change;
  const values = value === undefined ? "" : ` from ${number(before, 3)} to ${number(value, 3)}`;
  return `${sentenceCase(what)}${values} at step ${typeof step === "number" ? stepText(step) : "unknown"}`;
}

/** A value of any type, without a known format. @param {unknown} value @returns {string} */
export function plainText(value) {
  if (value === null || value === undefined) return "unknown";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") return Number.isInteger(value) ? stepText(value) : number(value);
  if (Array.isArray(value)) return value.map(plainText).join(", ");
  if (isRecord(value))
    return Object.entries(value)
      .map(([key, entry]) => `${key.replaceAll("_", " ")} ${plainText(entry)}`)
      .join(", ");
  return /^-?Infinity$/.test(String(value)) ? number(value) : String(value);
}

/** @param {unknown} value @returns {value is Record<string, unknown>} */
const isRecord = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** The noise around the baseline, in the unit of the series. @param {Pick<IncidentView, "kind" | "evidence">} incident @returns {number | null} */
export function noiseOf({ kind, evidence: { noise, baseline } }) {
  if (typeof noise !== "number" || typeof baseline !== "number") return null;
  return catalogueKind(kind)?.relative_noise ? noise * baseline : noise;
}
