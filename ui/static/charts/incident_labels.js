// @ts-check
/** The titles of a chart's incidents, above the plot so that they cover no data. */

import { layOutLabels } from "./curves.js";
import { extentOf } from "./layout.js";
import { scale } from "./figure.js";
import { MARGIN } from "./traces.js";
import { incidentTitle, severityRank } from "../lib/catalogue.js";
import { h, link, refill } from "../lib/dom.js";
import { step as stepText } from "../lib/format.js";
import { icon } from "../lib/icons.js";

/** @typedef {import("../lib/api_types.js").IncidentView} IncidentView */
/** @typedef {import("./traces.js").Picture} Picture */

const LETTER_WIDTH = 6.6; // pixels
const PADDING = 32; // pixels: icon and padding
const SELECTED_WEIGHT = -10; // labels with a lower weight are placed first
const ENDED_WEIGHT = 5;

export function createIncidentLabels() {
  const element = h("div", { class: "incident-labels", hidden: true });
  return {
    element,
    /** @param {Picture} picture */
    show(picture) {
      const visible = incidentsInView(picture);
      element.hidden = visible.length === 0;
      const placed = layOutLabels(
        visible.map(({ incident, from }) => labelSpec(picture, incident, from)),
        picture.width,
      );
      refill(
        element,
        visible.map(({ incident }, i) => label(incident, placed[i], incident.id === picture.selected?.id)),
      );
    },
  };
}

/** Incidents that overlap the range of the chart, with the x pixel of their onset. @param {Picture} picture */
function incidentsInView(picture) {
  const { range, width, incidents } = picture;
  if (range === null) return [];
  const { toPixel } = scale(range, width);
  return incidents.flatMap((incident) => {
    const [from, to] = extentOf(picture, incident);
    return to < range[0] || from > range[1] ? [] : [{ incident, from: Math.max(MARGIN.l, toPixel(from)) }];
  });
}

/** @param {Picture} picture @param {IncidentView} incident @param {number} from */
function labelSpec({ selected }, incident, from) {
  const selectedWeight = incident.id === selected?.id ? SELECTED_WEIGHT : 0;
  const endedWeight = incident.state === "open" ? 0 : ENDED_WEIGHT;
  return {
    x: from,
    width: PADDING + LETTER_WIDTH * incidentTitle(incident).length,
    weight: selectedWeight + severityRank(incident.severity) + endedWeight,
  };
}

/** @param {IncidentView} incident @param {{ left: number, full: boolean }} position @param {boolean} selected */
function label(incident, { left, full }, selected) {
  const title = incidentTitle(incident);
  return link(
    `/incidents/${incident.id}`,
    {
      class: `incident-label severity-${incident.severity}${incident.state === "open" ? "" : " incident-label-past"}`,
      style: { left: `${left}px` },
      title: incident.summary,
      "aria-label": `${title} at step ${stepText(incident.start_step)}`,
      "aria-current": selected ? "true" : null,
    },
    icon(incident.severity),
    full && h("span", {}, title),
  );
}
