// @ts-check
/** The head of a chart: its title, what it is measured in, and the buttons that change how it is drawn. */

import { h } from "../lib/dom.js";
import { count, unit } from "../lib/format.js";
import { icon } from "../lib/icons.js";
import { labelsText } from "./legend.js";

/** @typedef {import("./view_options.js").Mode} Mode */

/**
 * @param {import("./panel.js").ChartPlan} plan @param {Element} readout the values, between title and buttons
 * @param {{ onMode: (mode: Mode) => void, onRemove?: () => void }} reader
 */
export function createHead(plan, readout, { onMode, onRemove }) {
  const about = h("span", { class: "panel-sub quiet" });
  const outside = h("button", {
    type: "button",
    class: "chip",
    hidden: true,
    on: { click: () => onMode("whole") },
  });
  const thinned = h("span", { class: "panel-downsampled quiet", hidden: true }, "thinned");
  const log = tool({ title: "Logarithmic or linear", on: { click: () => onMode("log") } }, "log");
  const wide = tool(
    { "aria-label": "Wide", title: "As wide as the page", on: { click: () => onMode("wide") } },
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
    h("div", { class: "panel-tools" }, thinned, outside, log, wide, remove),
  );
  return {
    element,
    /** @param {{ smoothing: number, log: boolean, wide: boolean, whole: boolean, y: import("./curves.js").YRange | null,
     *   thinned: number }} now `thinned`: points of this stretch that retention has taken out */
    show(now) {
      log.setAttribute("aria-pressed", String(now.log));
      wide.setAttribute("aria-pressed", String(now.wide));
      about.textContent = subtitle(plan, now.smoothing);
      const text = outsideText(now.y);
      outside.hidden = !text && !now.whole;
      outside.textContent = now.whole ? "fit" : text;
      thinned.hidden = now.thinned === 0;
      thinned.title = thinnedText(now.thinned);
      outside.title = now.whole ? "Fit the axis to most of the values" : "Show every value";
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
  const measure = alone ? "" : unit(role, first?.metric ?? "");
  const smoothed = smoothing > 0 ? `smoothed ${smoothing.toFixed(2)} (EMA)` : "";
  return [name || measure, smoothed].filter(Boolean).join(" · ");
}

/** What became of a stretch whose points are not all there any more. @param {number} gone */
const thinnedText = (gone) =>
  `Retention has taken ${count(gone, "point")} out of this stretch. Of neighbouring points the first, the last, ` +
  "the lowest and the highest stayed; what surrounds incidents is whole. The line is the mean of what stayed.";

/** What lies outside the axis, empty where nothing does. @param {import("./curves.js").YRange | null} y */
function outsideText(y) {
  if (!y) return "";
  const far = [y.above && `↑${y.above}`, y.below && `↓${y.below}`].filter(Boolean).join(" ");
  const hidden = y.hidden ? `${count(y.hidden, "value")} ≤ 0 not drawn` : "";
  return [far && `${far} outside`, hidden].filter(Boolean).join(", ");
}
