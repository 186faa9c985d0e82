// @ts-check
/** What stands over the charts: steps or time, smoothing, back to the whole run, one more chart. */

import { h, refill } from "../lib/dom.js";
import { icon } from "../lib/icons.js";

/** @typedef {import("../charts/curves.js").Axis} Axis */

/**
 * @param {{ onAxis: (axis: Axis) => void, onSmooth: (strength: number, settled: boolean) => void,
 *   onWhole: () => void, onAdd: () => void }} reader
 */
export function createChartControls({ onAxis, onSmooth, onWhole, onAdd }) {
  const axes = h("div", { class: "segmented", role: "group", "aria-label": "Axis" });
  const smoothing = smoothingControl(onSmooth);
  const resetButton = button("back", "Whole run", onWhole);
  const noChartsNote = h("p", { class: "quiet", hidden: true }, "No series here has a chart of its own accord.");
  const element = h(
    "div",
    { class: "chart-tools" },
    noChartsNote,
    axes,
    smoothing.element,
    resetButton,
    h("span", { class: "spacer" }),
    button("plus", "Add a chart", onAdd),
  );
  return {
    element,
    /** @param {{ axis: Axis, clock: boolean, smoothing: number, zoomed: boolean, charts: number }} now `clock`: the log has times */
    show(now) {
      smoothing.element.hidden = now.charts === 0;
      axes.hidden = now.charts === 0 || !now.clock; // of one there is no choice
      noChartsNote.hidden = now.charts > 0;
      const names = /** @type {[Axis, string][]} */ ([
        ["step", "Step"],
        ...(now.clock ? [["time", "Time"]] : []),
      ]);
      refill(
        axes,
        names.map(([axis, text]) => axisButton(text, axis === now.axis, () => onAxis(axis))),
      );
      smoothing.show(now.smoothing);
      resetButton.hidden = !now.zoomed;
    },
  };
}

/** @param {string} sign @param {string} text @param {() => void} click */
const button = (sign, text, click) =>
  h("button", { type: "button", class: "button", on: { click } }, icon(sign), text);

/** @param {string} text @param {boolean} pressed @param {() => void} click */
const axisButton = (text, pressed, click) =>
  h("button", { type: "button", "aria-pressed": String(pressed), on: { click } }, text);

/** @param {(strength: number, settled: boolean) => void} onSmooth */
function smoothingControl(onSmooth) {
  const slider = /** @type {HTMLInputElement} */ (
    h("input", { type: "range", min: 0, max: 0.99, step: 0.01, id: "smoothing" })
  );
  const strength = h("output", { class: "number", for: "smoothing" });
  const showStrength = () => (strength.textContent = Number(slider.value) ? Number(slider.value).toFixed(2) : "off");
  slider.addEventListener("input", () => (showStrength(), onSmooth(Number(slider.value), false)));
  slider.addEventListener("change", () => onSmooth(Number(slider.value), true));
  return {
    element: h("label", { class: "smoothing" }, "Smoothing", slider, strength),
    /** @param {number} value */
    show(value) {
      if (slider.matches(":active")) return; // it is being moved
      slider.value = String(value);
      showStrength();
    },
  };
}
