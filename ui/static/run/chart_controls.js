// @ts-check
/** The controls above the charts: x axis, smoothing, finding charts, reset zoom, add chart. */

import { axisMetrics, isProgress, metricAxis } from "../charts/x_axes.js";
import { h, link, refill } from "../lib/dom.js";
import { icon } from "../lib/icons.js";

/** @typedef {import("../charts/curves.js").Axis} Axis */

const MAX_OTHER_METRICS = 60; // offered as an axis besides those whose name says that they count
const FIND_DELAY = 200; // ms after the last letter

/**
 * @param {{ onAxis: (axis: Axis) => void, onXLog: (on: boolean) => void, onSmooth: (strength: number, settled: boolean) => void,
 *   onReset: () => void, onAdd: () => void, onFind: (words: string) => void, runId: string }} options
 */
export function createChartControls({ runId, onAxis, onXLog, onSmooth, onReset, onAdd, onFind }) {
  const axes = axisControl(onAxis);
  const xLog = h(
    "button",
    { type: "button", class: "button", "aria-label": "Log x", title: "Logarithmic or linear x axis" },
    "log x",
  );
  xLog.addEventListener("click", () => onXLog(xLog.getAttribute("aria-pressed") !== "true"));
  const smoothing = smoothingControl(onSmooth);
  const resetButton = button("back", "Reset zoom", onReset);
  const noChartsNote = h(
    "p",
    { class: "quiet", hidden: true },
    "None of this run's metrics is charted by default. Add a chart to see one.",
  );
  const find = /** @type {HTMLInputElement} */ (
    h("input", {
      type: "search",
      class: "field find-charts",
      placeholder: "Find charts: loss, rank 37",
      "aria-label": "Find charts by words of a metric's name or by a label",
      autocomplete: "off",
      spellcheck: "false",
    })
  );
  let timer = 0;
  find.addEventListener("input", () => {
    clearTimeout(timer);
    timer = window.setTimeout(() => onFind(find.value), FIND_DELAY);
  });
  const element = h(
    "div",
    { class: "chart-tools" },
    noChartsNote,
    axes.element,
    xLog,
    smoothing.element,
    resetButton,
    h("span", { class: "spacer" }),
    find,
    button("plus", "Add chart", onAdd),
    link(`/compare?runs=${encodeURIComponent(runId)}`, { class: "button needs-login" }, icon("compare"), "Compare with…"),
  );
  return {
    element,
    focusFind: () => find.focus(),
    /** Offer metrics as x axes. @param {string[]} metrics */
    offer: axes.offer,
    /** @param {{ axis: Axis, xLog: boolean, clock: boolean, smoothing: number, zoomed: boolean, charts: number, find: string }} state `clock`: the log has times */
    show(state) {
      const none = state.charts === 0;
      smoothing.element.hidden = none;
      axes.element.hidden = none;
      xLog.hidden = none || state.axis === "time";
      noChartsNote.hidden = !none || state.find !== "";
      axes.show(state.axis, state.clock);
      xLog.setAttribute("aria-pressed", String(state.xLog));
      smoothing.show(state.smoothing);
      resetButton.hidden = !state.zoomed;
      if (document.activeElement !== find) find.value = state.find;
    },
  };
}

/** The choice of the x axis. @param {(axis: Axis) => void} onAxis */
function axisControl(onAxis) {
  const select = /** @type {HTMLSelectElement} */ (h("select", { class: "select", "aria-label": "X axis" }));
  /** @type {string[]} */
  let metrics = [];
  let shown = "";
  select.addEventListener("change", () => onAxis(/** @type {Axis} */ (select.value)));
  const option = (/** @type {string} */ value, /** @type {string} */ text) => h("option", { value }, text);

  /** @param {Axis} axis @param {boolean} clock */
  function show(axis, clock) {
    const counting = metrics.filter(isProgress);
    const others = metrics.filter((metric) => !isProgress(metric)).slice(0, MAX_OTHER_METRICS);
    const state = JSON.stringify([axis, clock, metrics]);
    if (state === shown) return;
    shown = state;
    const known = ["step", "time", "relative", "tokens", "samples", ...metrics.map(metricAxis)];
    refill(
      select,
      option("step", "Step"),
      clock && option("time", "Wall time"),
      clock && option("relative", "Relative time"),
      option("tokens", "Tokens"),
      option("samples", "Samples"),
      counting.map((metric) => option(metricAxis(metric), metric)),
      others.length > 0 &&
        h("optgroup", { label: "Metrics that only grow" }, others.map((metric) => option(metricAxis(metric), metric))),
      !known.includes(axis) && option(axis, axis.replace(/^metric:/, "")),
    );
    select.value = axis;
  }

  return {
    element: h("div", { class: "axis-choice" }, h("span", { "aria-hidden": "true" }, "x"), select),
    show,
    /** @param {string[]} list */
    offer: (list) => void (metrics = axisMetrics(list)),
  };
}

/** @param {string} sign @param {string} text @param {() => void} click */
const button = (sign, text, click) =>
  h("button", { type: "button", class: "button", on: { click } }, icon(sign), text);

/** @param {(strength: number, settled: boolean) => void} onSmooth */
export function smoothingControl(onSmooth) {
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
