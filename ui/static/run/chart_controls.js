// @ts-check
/** The controls above the charts: x axis, smoothing, reset zoom, add chart. */

import { h, refill } from "../lib/dom.js";
import { icon } from "../lib/icons.js";

/** @typedef {import("../charts/curves.js").Axis} Axis */

/**
 * @param {{ onAxis: (axis: Axis) => void, onSmooth: (strength: number, settled: boolean) => void,
 *   onReset: () => void, onAdd: () => void }} events
 */
export function createChartControls({ onAxis, onSmooth, onReset, onAdd }) {
  const axes = h("div", { class: "segmented", role: "group", "aria-label": "Axis" });
  const smoothing = smoothingControl(onSmooth);
  const resetButton = button("back", "Reset zoom", onReset);
  const noChartsNote = h(
    "p",
    { class: "quiet", hidden: true },
    "None of this run's metrics is charted by default. Add a chart to see one.",
  );
  const element = h(
    "div",
    { class: "chart-tools" },
    noChartsNote,
    axes,
    smoothing.element,
    resetButton,
    h("span", { class: "spacer" }),
    button("plus", "Add chart", onAdd),
  );
  return {
    element,
    /** @param {{ axis: Axis, clock: boolean, smoothing: number, zoomed: boolean, charts: number }} state `clock`: the log has times */
    show(state) {
      smoothing.element.hidden = state.charts === 0;
      axes.hidden = state.charts === 0 || !state.clock; // without times there is nothing to choose
      noChartsNote.hidden = state.charts > 0;
      const names = /** @type {[Axis, string][]} */ ([
        ["step", "Step"],
        ...(state.clock ? [["time", "Time"]] : []),
      ]);
      refill(
        axes,
        names.map(([axis, text]) => axisButton(text, axis === state.axis, () => onAxis(axis))),
      );
      smoothing.show(state.smoothing);
      resetButton.hidden = !state.zoomed;
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
  const showStrength = () =>
    (strength.textContent = Number(slider.value) ? Number(slider.value).toFixed(2) : "off");
  slider.addEventListener("input", () => (showStrength(), onSmooth(Number(slider.value), false)));
  slider.addEventListener("change", () => onSmooth(Number(slider.value), true));
  return {
    element: h("label", { class: "smoothing" }, "Smoothing", slider, strength),
    /** @param {number} value */
    show(value) {
      if (slider.matches(":active")) return; // the slider is being dragged
      slider.value = String(value);
      showStrength();
    },
  };
}
