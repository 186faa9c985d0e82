// @ts-check
/** The names of a chart's incidents, above the plot where they cover no data. */

import { scale } from "./plotly.js";
import { layOutLabels } from "./curves.js";
import { h, link, refill } from "../lib/dom.js";
import { step as stepText } from "../lib/format.js";
import { icon } from "../lib/icons.js";
import { extentOf } from "./layout.js";
import { MARGIN } from "./traces.js";
import { incidentTitle, severityRank } from "../lib/labels.js";

/** @typedef {import("../lib/api_types.js").IncidentView} IncidentView */
/** @typedef {import("./traces.js").Picture} Picture */

const LETTER = 6.6; // pixels
const AROUND = 32; // pixels: icon and padding
const CHOSEN = -10; // weights: the lighter is served first
const OVER = 5;

export function createLane() {
  const element = h("div", { class: "incident-labels", hidden: true });
  return {
    element,
    /** @param {Picture} picture */
    show(picture) {
      const seen = inView(picture);
      element.hidden = seen.length === 0;
      const placed = layOutLabels(
        seen.map(({ incident, from }) => wanted(picture, incident, from)),
        picture.width,
      );
      refill(
        element,
        seen.map(({ incident }, i) => label(incident, placed[i], incident.id === picture.selected?.id)),
      );
    },
  };
}

/** Incidents that the chart shows at least in part, with the pixel of their onset. @param {Picture} picture */
function inView(picture) {
  const { range, width, incidents } = picture;
  if (range === null) return [];
  const { toPixel } = scale(range, width);
  return incidents.flatMap((incident) => {
    const [from, to] = extentOf(picture, incident);
    return to < range[0] || from > range[1] ? [] : [{ incident, from: Math.max(MARGIN.l, toPixel(from)) }];
  });
}

/** @param {Picture} picture @param {IncidentView} incident @param {number} from */
function wanted({ selected }, incident, from) {
  const chosen = incident.id === selected?.id ? CHOSEN : 0;
  const over = incident.state === "open" ? 0 : OVER;
  return {
    x: from,
    width: AROUND + LETTER * incidentTitle(incident).length,
    weight: chosen + severityRank(incident.severity) + over,
  };
}

/** @param {IncidentView} incident @param {{ left: number, full: boolean }} place @param {boolean} chosen */
function label(incident, { left, full }, chosen) {
  const title = incidentTitle(incident);
  return link(
    `/incidents/${incident.id}`,
    {
      class: `incident-label severity-${incident.severity}${incident.state === "open" ? "" : " incident-label-past"}`,
      style: { left: `${left}px` },
      title: incident.summary,
      "aria-label": `${title} at step ${stepText(incident.start_step)}`,
      "aria-current": chosen ? "true" : null,
    },
    icon(incident.severity),
    full && h("span", {}, title),
  );
}
