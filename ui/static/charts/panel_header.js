// @ts-check
/** The header of a chart: title, unit, values, and the buttons that change how the chart is drawn. */

import { labelsText } from "./legend.js";
import { metricUnit } from "../lib/catalogue.js";
import { h } from "../lib/dom.js";
import { count } from "../lib/format.js";
import { icon } from "../lib/icons.js";

/** @typedef {import("./view_options.js").Mode} Mode */

/**
 * @param {import("./panel.js").ChartPlan} plan @param {Element} readout the values, between title and buttons
 * @param {{ onMode: (mode: Mode) => void, onRemove?: () => void }} events
 */
export function createPanelHeader(plan, readout, { onMode, onRemove }) {
  const about = h("span", { class: "panel-sub quiet" });
  const outside = h("button", {
    type: "button",
    class: "chip",
    hidden: true,
    on: { click: () => onMode("whole") },
  });
  const downsampled = h("span", { class: "panel-downsampled quiet", hidden: true }, "downsampled");
  const log = tool({ title: "Logarithmic or linear y axis", on: { click: () => onMode("log") } }, "log");
  const wide = tool(
    { "aria-label": "Wide", title: "Full width", on: { click: () => onMode("wide") } },
    icon("wide"),
  );
  const remove =
    onRemove && tool({ "aria-label": `Remove ${plan.title}`, on: { click: onRemove } }, icon("close"));
  const element = h(
    "header",
    {},
    h("h3", { title: plan.title }, plan.title),
    about,
    readout,
    h("div", { class: "panel-tools" }, downsampled, outside, log, wide, remove),
  );
  return {
    element,
    /** @param {{ smoothing: number, log: boolean, wide: boolean, whole: boolean, y: import("./curves.js").YRange | null,
     *   thinned: number }} state `thinned`: points in this range that retention has removed */
    show(state) {
      log.setAttribute("aria-pressed", String(state.log));
      wide.setAttribute("aria-pressed", String(state.wide));
      about.textContent = subtitle(plan, state.smoothing);
      const text = outsideText(state.y);
      outside.hidden = !text && !state.whole;
      outside.textContent = state.whole ? "fit y axis" : text;
      downsampled.hidden = state.thinned === 0;
      downsampled.title = downsampledText(state.thinned);
      outside.title = state.whole ? "Leave outliers outside the y axis" : "Show every value";
    },
  };
}

/** @param {import("../lib/dom.js").Properties} properties @param {import("../lib/dom.js").Child} child */
const tool = (properties, child) => h("button", { type: "button", class: "tool", ...properties }, child);

/** @param {import("./panel.js").ChartPlan} plan @param {number} smoothing */
function subtitle({ title, role, series }, smoothing) {
  const [first] = series;
  const alone = series.length === 1;
  const named = title.toLowerCase().endsWith(first?.metric.toLowerCase());
  const labels = alone ? labelsText(first) : "";
  const name = alone ? [named ? "" : first.metric, labels].filter(Boolean).join(", ") : "";
  const measure = alone ? "" : metricUnit(role, first?.metric ?? "");
  const smoothed = smoothing > 0 ? `smoothed ${smoothing.toFixed(2)} (EMA)` : "";
  return [name || measure, smoothed].filter(Boolean).join(" · ");
}

/** Explains which points retention has removed. @param {number} removed */
const downsampledText = (removed) =>
  `Retention has removed ${count(removed, "point")} from this range. Of neighbouring points the first, the last, ` +
  "the lowest and the highest remain; points around incidents are complete. The line is the mean of the remaining points.";

/** How many values are outside the y axis; empty if none is. @param {import("./curves.js").YRange | null} y */
function outsideText(y) {
  if (!y) return "";
  const far = [y.above && `↑${y.above}`, y.below && `↓${y.below}`].filter(Boolean).join(" ");
  const hidden = y.hidden ? `${count(y.hidden, "value")} ≤ 0 not drawn` : "";
  return [far && `${far} outside`, hidden].filter(Boolean).join(", ");
}
