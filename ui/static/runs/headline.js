// @ts-check
/** The heading of the overview: what runs now, of the runs that the filter finds. */

import { count } from "../lib/format.js";

/** @typedef {import("../lib/api_types.js").RunCounts} RunCounts */

/**
 * The heading and its severity; "unknown" where none of the runs is judged, or finished ones are unresolved. Pure.
 * @param {RunCounts} counts @param {boolean} [isJudged] @returns {[string, string]}
 */
export function statusHeading({ all, found, running, stalled, sections }, isJudged = true) {
  if (found === 0) return ["info", all === 0 ? "No runs yet" : "No matching runs"];
  const { attention } = sections;
  const parts = [
    running > 0 ? `${running.toLocaleString("en-US")} running` : "Nothing is running",
    attention > 0 && `${count(attention, "needs", "need")} attention`,
    stalled > 0 && `${stalled.toLocaleString("en-US")} stalled`,
    attention === 0 && !isJudged && "health not known",
  ].filter(Boolean);
  const isWell = isJudged && sections.unresolved === 0;
  return [attention > 0 ? "warning" : isWell ? "ok" : "unknown", parts.join(", ")];
}

/** What the heading does not say: what is over, and how many runs the filter leaves out. Pure. @param {RunCounts} counts */
export function statusNote({ all, found, sections }) {
  const parts = [
    sections.unresolved > 0 && `${count(sections.unresolved, "finished run", "finished runs")} unresolved`,
    found < all ? `${found.toLocaleString("en-US")} of ${count(all, "run")}` : count(all, "run"),
  ].filter(Boolean);
  return parts.join(" · ");
}

const PROPERTY = /(^|\s)is:(attention|running|unresolved|finished)(?=\s|$)/;

/** The section that a filter asks for, "" for none. Pure. @param {string} filter */
export const sectionOf = (filter) => PROPERTY.exec(filter)?.[2] ?? "";

/** The filter with another section, "" for all. Pure. @param {string} filter @param {string} section */
export function withSection(filter, section) {
  const rest = filter.replace(PROPERTY, " ").trim().replace(/\s+/g, " ");
  return section ? `is:${section}${rest ? ` ${rest}` : ""}` : rest;
}
