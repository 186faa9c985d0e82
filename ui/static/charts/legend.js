// @ts-check
/** The legend of a chart: colour, name and value at the crosshair of each series; of very many only the highlighted one. */

import { COLOURED, colours, labelText } from "./traces.js";
import { h, refill } from "../lib/dom.js";
import { count, seriesName } from "../lib/format.js";

/** @typedef {import("../lib/api_types.js").ChartCurve} ChartCurve */
/** @typedef {import("./traces.js").Picture} Picture */

/** Labels as text: rank 3, host n17. Pure. @param {{ labels?: Record<string, unknown> }} series */
export const labelsText = ({ labels }) =>
  Object.entries(labels ?? {})
    .filter(([name, value]) => !(name === "steps" && value === "milliseconds")) // shown by the axis
    .map(([name, value]) => `${name} ${value}`)
    .join(", ");

/** The name of a series in a legend: only its labels if all series have the same metric. Pure. @param {ChartCurve} series @param {ChartCurve[]} all */
export function shortName(series, all) {
  const same = all.every((curve) => curve.metric === series.metric);
  const inside = labelsText(series);
  return same && inside ? inside : seriesName(series);
}

/** @param {import("./panel.js").ChartPlan} plan @param {(name: string | null) => void} onFocus */
export function createLegend(plan, onFocus) {
  const element = h("ul", { class: "legend" });

  /** @param {ChartCurve} series @param {string} colour @param {ChartCurve[]} all @param {string} value */
  const item = (series, colour, all, value) =>
    h(
      "li",
      {
        class: "legend-item",
        on: { pointerenter: () => onFocus(labelText(series)), pointerleave: () => onFocus(null) },
      },
      h("i", { style: { background: colour } }),
      h("span", {}, shortName(series, all)),
      h("b", { class: "number" }, value),
    );

  return {
    element,
    /** @param {Picture} picture @param {(curve: ChartCurve) => string} reading returns the value to show next to a name */
    show(picture, reading) {
      const { series, focus } = picture;
      element.hidden = series.length < 2;
      if (series.length < 2) return;
      const lineColours = colours(picture);
      const named = series.length > COLOURED ? series.filter((curve) => labelText(curve) === focus) : series;
      refill(
        element,
        named.map((curve) => item(curve, lineColours[series.indexOf(curve)], series, reading(curve))),
        restText(plan, series.length, named.length),
      );
    },
  };
}

/** @param {import("./panel.js").ChartPlan} plan @param {number} drawn @param {number} named */
function restText(plan, drawn, named) {
  const total = plan.series_count ?? drawn;
  if (total > drawn) return h("li", { class: "quiet" }, `${drawn} of ${count(total, "series", "series")}`);
  if (drawn <= COLOURED) return null;
  return h(
    "li",
    { class: "quiet" },
    named ? `and ${drawn - named} others in grey` : `${drawn} series in grey`,
  );
}
