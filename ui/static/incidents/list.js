// @ts-check
/** The incidents of a run, beside its curves: the sentence first, evidence and advice when one asks. */

import { h, link } from "../lib/dom.js";
import { ago, clock } from "../lib/format.js";
import { actions, evidenceTable, placeLine } from "./details.js";
import { lifeWord, severityRank } from "../lib/labels.js";

/** @typedef {import("../lib/api_types.js").IncidentView} IncidentView */

/** Open ones first, the worst first, then the newest. Pure. @param {IncidentView[]} incidents */
export function byWeight(incidents) {
  const open = (/** @type {IncidentView} */ incident) => (incident.state === "open" ? 0 : 1);
  return [...incidents].sort(
    (a, b) =>
      open(a) - open(b) || severityRank(a.severity) - severityRank(b.severity) || b.start_step - a.start_step,
  );
}

/**
 * @param {IncidentView[]} incidents
 * @param {{ selected: IncidentView | null, onSelect: (incident: IncidentView | null) => void, onChange: (incident: IncidentView) => void }} options
 */
export function incidentList(incidents, { selected, onSelect, onChange }) {
  return h(
    "ul",
    { class: "incident-list" },
    byWeight(incidents).map((incident) => {
      const chosen = incident.id === selected?.id;
      const began = incident.start_time ?? incident.opened_at;
      const toggle = h(
        "button",
        {
          type: "button",
          class: "incident-summary",
          "aria-expanded": String(chosen),
          on: { click: () => onSelect(chosen ? null : incident) },
        },
        incident.summary,
      );
      return h(
        "li",
        {
          class: `incident-item severity-edge-${incident.severity} incident-${incident.state}${chosen ? " incident-selected" : ""}`,
        },
        placeLine(incident),
        toggle,
        h(
          "p",
          { class: "quiet incident-when" },
          lifeWord(incident),
          " · ",
          h(
            "time",
            {
              title: clock(began),
              data: { ago: String(began) },
            },
            ago(began),
          ),
        ),
        chosen &&
          h(
            "div",
            { class: "incident-more" },
            h("p", {}, incident.advice),
            evidenceTable(incident),
            h(
              "p",
              { class: "row" },
              ...actions(incident, onChange),
              link(`/incidents/${incident.id}`, { class: "button" }, "Open"),
            ),
          ),
      );
    }),
  );
}
