// @ts-check
/** The probable causes of an incident, with what supports and what contradicts each. */

import { h } from "../lib/dom.js";
import { percent } from "../lib/format.js";

/** @typedef {import("../lib/api_types.js").IncidentView} IncidentView */
/** @typedef {import("../lib/api_types.js").CauseView} CauseView */

/** A list of the causes, the most probable first. @param {CauseView[]} causes */
export function causeList(causes) {
  return h("ol", { class: "causes" }, causes.map(causeItem));
}

/** @param {CauseView} cause */
function causeItem(cause) {
  return h(
    "li",
    { class: `cause${cause.clear ? " cause-clear" : ""}` },
    h(
      "p",
      { class: "cause-line" },
      h(cause.clear ? "b" : "span", {}, cause.sentence),
      h(
        "span",
        { class: "cause-score quiet number", title: "Probability that it is the cause" },
        percent(Math.floor(100 * cause.score) / 100), // nothing is certain: not rounded to 100
      ),
    ),
    h("meter", { class: "cause-meter", value: String(cause.score), max: "1", "aria-hidden": "true" }),
    h(
      "dl",
      { class: "cause-evidence" },
      ...evidence("For", cause.evidence_for),
      ...evidence("Against", cause.evidence_against),
    ),
  );
}

/** @param {string} name @param {string[]} statements */
const evidence = (name, statements) =>
  statements.length === 0
    ? []
    : [h("dt", { class: "quiet" }, name), ...statements.map((statement) => h("dd", {}, statement))];

/** The names of the series that the causes are about, the most probable first. Pure. @param {Pick<IncidentView, "causes">} incident @returns {string[]} */
export const causeMetrics = ({ causes }) => [
  ...new Set(causes.map(({ metric }) => metric).filter((metric) => metric !== "")),
];
