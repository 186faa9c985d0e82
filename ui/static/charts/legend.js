// @ts-check
/** The legend of a chart: colour, name and value at the crosshair of each series; of very many only the named ones. */

import { COLOURED, colours, labelText, namedSeries, pinKey } from "./traces.js";
import { h, refill } from "../lib/dom.js";
import { count, seriesName } from "../lib/format.js";

/** @typedef {import("./curves.js").ChartCurve} ChartCurve */
/** @typedef {import("./traces.js").Picture} Picture */

const MAX_ENTRIES = 24; // of a chart in which every series has its colour

/** Labels as text: rank 3, host n17. Pure. @param {{ labels?: Record<string, unknown> }} series */
export const labelsText = ({ labels }) =>
  Object.entries(labels ?? {})
    .filter(([name, value]) => !(name === "steps" && value === "milliseconds")) // shown by the axis
    .map(([name, value]) => `${name} ${value}`)
    .join(", ");

/** The name of a series in a legend: without what all series have in common. Pure. @param {ChartCurve} series @param {ChartCurve[]} all */
export function shortName(series, all) {
  if (series.text) return series.text;
  const same = all.every((curve) => curve.metric === series.metric);
  const inside = labelsText(series);
  const own = same && (inside || series.run) ? inside : seriesName(series);
  return [series.run?.name, own].filter(Boolean).join(", ");
}

/**
 * @param {import("./panel.js").ChartPlan} plan
 * @param {{ onFocus: (name: string | null) => void, onPin?: (key: string) => void }} events
 */
export function createLegend(plan, { onFocus, onPin }) {
  const element = h("ul", { class: "legend" });
  /** @type {HTMLElement[]} the elements of the values, by entry */
  let values = [];
  let shown = "";

  /** @param {ChartCurve} series @param {string} colour @param {ChartCurve[]} all @param {boolean} isPinned */
  function item(series, colour, all, isPinned) {
    const name = shortName(series, all);
    const value = h("b", { class: "number" });
    values.push(value);
    const content = [h("i", { style: { background: colour } }), h("span", {}, name), value];
    const focus = { pointerenter: () => onFocus(labelText(series)), pointerleave: () => onFocus(null) };
    if (!onPin) return h("li", { class: "legend-item", on: focus }, content);
    const button = h(
      "button",
      {
        type: "button",
        class: "legend-pin",
        "aria-pressed": String(isPinned),
        title: isPinned ? `Unpin ${name}` : `Pin ${name}`,
        on: {
          click: () => onPin(pinKey(series)),
          focus: () => onFocus(labelText(series)),
          blur: () => onFocus(null),
        },
      },
      content,
    );
    return h("li", { class: "legend-item", on: focus }, button);
  }

  return {
    element,
    /** @param {Picture} picture @param {(curve: ChartCurve) => string} reading returns the value to show next to a name */
    show(picture, reading) {
      const { series, focus, pinned = [] } = picture;
      element.hidden = series.length < 2;
      if (series.length < 2) return;
      const named = entries(picture);
      const lineColours = colours(picture);
      const state = JSON.stringify([
        series.length,
        named.map((curve) => [labelText(curve), lineColours[series.indexOf(curve)], pinned.includes(pinKey(curve))]),
      ]);
      if (state !== shown) {
        shown = state;
        values = [];
        refill(
          element,
          named.map((curve) =>
            item(curve, lineColours[series.indexOf(curve)], series, pinned.includes(pinKey(curve))),
          ),
          restText(plan, series, named.length),
        );
      }
      named.forEach((curve, i) => {
        const text = reading(curve);
        if (values[i].textContent !== text) values[i].textContent = text;
        values[i].closest("li")?.classList.toggle("legend-focus", focus !== null && labelText(curve) === focus);
      });
    },
  };
}

/** The series with an entry: all of few, otherwise the pinned, unusual and highlighted ones. @param {Picture} picture */
function entries(picture) {
  const { series, focus } = picture;
  const named = series[0].run ? series.slice(0, MAX_ENTRIES) : namedSeries(picture);
  const focused = focus === null ? undefined : series.find((curve) => labelText(curve) === focus);
  return focused && !named.includes(focused) ? [...named, focused] : named;
}

/** What the chart shows of the series without an entry. @param {import("./panel.js").ChartPlan} plan @param {ChartCurve[]} series @param {number} named */
function restText(plan, series, named) {
  const total = Math.max(plan.series_count ?? 0, series.length);
  if (total <= COLOURED || total === named) return null;
  if (series[0].run) return h("li", { class: "quiet" }, `and ${count(total - named, "other", "others")}`);
  const text = named ? `median and band of ${count(total - named, "other", "others")}` : `median and band of ${total} series`;
  return h("li", { class: "quiet legend-rest" }, h("i", {}), text);
}
