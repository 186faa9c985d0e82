// @ts-check
/** The list of a run's incidents next to its charts; the selected one shows advice and evidence. */

import { actions } from "./actions.js";
import { evidenceTable, incidentLine } from "./details.js";
import { incidentStateText } from "../lib/badges.js";
import { severityRank } from "../lib/catalogue.js";
import { h, link } from "../lib/dom.js";
import { ago, clock } from "../lib/format.js";

/** @typedef {import("../lib/api_types.js").IncidentView} IncidentView */

const WIDE = "(min-width: 1101px)"; // narrower, the list is above the charts: evidence is folded

/** Open incidents first, the most severe of them first, then the newest. Pure. @param {IncidentView[]} incidents */
export function sortIncidents(incidents) {
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
    sortIncidents(incidents).map((incident) => {
      const isSelected = incident.id === selected?.id;
      const startTime = incident.start_time ?? incident.opened_at;
      const toggle = h(
        "button",
        {
          type: "button",
          class: "incident-summary",
          "aria-expanded": String(isSelected),
          on: { click: () => onSelect(isSelected ? null : incident) },
        },
        incident.summary,
      );
      return h(
        "li",
        {
          class: `incident-item severity-edge-${incident.severity} incident-${incident.state}${isSelected ? " incident-selected" : ""}`,
        },
        incidentLine(incident),
        toggle,
        h(
          "p",
          { class: "quiet incident-when" },
          incidentStateText(incident),
          " · ",
          h(
            "time",
            {
              title: clock(startTime),
              data: { ago: String(startTime) },
            },
            ago(startTime),
          ),
        ),
        isSelected &&
          h(
            "div",
            { class: "incident-more" },
            h("p", {}, incident.advice),
            h(
              "details",
              { class: "incident-evidence", open: matchMedia(WIDE).matches },
              h("summary", {}, "Evidence"),
              evidenceTable(incident),
            ),
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
