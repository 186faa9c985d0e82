// @ts-check
/** Similar incidents of the past, and what was done about each. */

import { severityMark } from "../lib/badges.js";
import { h, link } from "../lib/dom.js";
import { ago, clock, count } from "../lib/format.js";

/** @typedef {import("../lib/api_types.js").SimilarIncident} SimilarIncident */

/** @param {SimilarIncident[]} incidents */
export const similarList = (incidents) => h("ul", { class: "similar" }, incidents.map(similarItem));

/** @param {SimilarIncident} incident */
function similarItem({ id, run, project, summary, severity, state, start_step: start, end_step: end, began_at: at, actions }) {
  const length = end !== null && end > start ? `, ${count(end - start, "step")}` : "";
  return h(
    "li",
    {},
    h(
      "p",
      {},
      severityMark(severity, ""),
      link(`/incidents/${id}`, {}, summary),
    ),
    h(
      "p",
      { class: "quiet" },
      `${project} / ${run} · ${state}${length} · `,
      h("time", { title: clock(at), data: { ago: String(at) } }, ago(at)),
    ),
    actions.length
      ? h("ul", { class: "similar-actions" }, actions.map((action) => h("li", {}, action)))
      : h("p", { class: "quiet" }, "Nothing was noted about it."),
  );
}
