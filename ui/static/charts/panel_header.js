// @ts-check
/** The header of a chart: title, unit, values, and the buttons that change how the chart is drawn. */

import { labelsText } from "./legend.js";
import { createMenu } from "./menu.js";
import { metricUnit } from "../lib/catalogue.js";
import { h } from "../lib/dom.js";
import { count } from "../lib/format.js";
import { icon } from "../lib/icons.js";

/** @typedef {import("./view_options.js").Mode} Mode */

/**
 * @param {import("./panel.js").ChartPlan} plan @param {Element} readout the values, between title and buttons
 * @param {{ onMode: (mode: Mode) => void, onRemove?: () => void, menu: () => import("./menu.js").MenuItem[] }} events
 */
export function createPanelHeader(plan, readout, { onMode, onRemove, menu }) {
  const about = h("span", { class: "panel-sub quiet" });
  const chip = (/** @type {string} */ title) =>
    h("button", { type: "button", class: "chip", hidden: true, title, on: { click: () => onMode("whole") } });
  const outside = chip("Show every value");
  const warmup = chip("The y axis fits what follows the warm-up. Show everything");
  const downsampled = h("span", { class: "panel-downsampled quiet", hidden: true }, "downsampled");
  const log = tool(
    {
      "aria-label": `Log y: ${plan.title}`,
      title: "Logarithmic or linear y axis",
      on: { click: () => onMode("log") },
    },
    "log y",
  );
  const wide = tool(
    { "aria-label": `Wide: ${plan.title}`, title: "Full width", on: { click: () => onMode("wide") } },
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
    h(
      "div",
      { class: "panel-tools" },
      downsampled,
      log,
      wide,
      createMenu(`Menu of ${plan.title}`, menu).element,
      remove,
    ),
  );
  return {
    element,
    /** What the y axis leaves out, over the plot. */
    chips: h("div", { class: "plot-chips" }, warmup, outside),
    /** @param {{ smoothing: number, log: boolean, wide: boolean, whole: boolean, y: import("./curves.js").YRange | null,
     *   thinned: number }} state `thinned`: points in this range that retention has removed */
    show(state) {
      log.setAttribute("aria-pressed", String(state.log));
      wide.setAttribute("aria-pressed", String(state.wide));
      about.textContent = subtitle(plan, state.smoothing);
      const hasWarmup = Boolean(state.y?.warmup);
      const text = outsideText(state.y);
      warmup.hidden = !hasWarmup;
      warmup.textContent = "warm-up hidden";
      outside.hidden = (!text && !state.whole) || hasWarmup;
      outside.textContent = state.whole ? "fit y axis" : text;
      outside.title = state.whole ? "Leave warm-up and outliers outside the y axis" : "Show every value";
      downsampled.hidden = state.thinned === 0;
      downsampled.title = downsampledText(state.thinned);
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
