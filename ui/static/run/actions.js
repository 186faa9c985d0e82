// @ts-check
/** Actions and keyboard shortcuts of the run page. Actions change the address, and the page follows the address. */

import { stepsToAxis } from "../charts/ranges.js";
import { toggleMetric } from "../charts/view_options.js";
import * as keys from "../lib/keyboard.js";
import * as prefs from "../lib/preferences.js";

/** @typedef {import("../lib/api_types.js").IncidentView} IncidentView */
/** @typedef {import("./state.js").RunState} RunState */

const MIN_MARGIN = 60; // steps shown before and after an incident
const MARGIN_SHARE = 0.6; // share of its duration

/**
 * The steps around an incident, up to the last one of the run. Pure.
 * @param {IncidentView} incident @param {number | null} last the run's last step @returns {[number, number]}
 */
export function stepsAround({ start_step: start, end_step: end }, last) {
  const until = end ?? last ?? start;
  const margin = Math.max(MIN_MARGIN, MARGIN_SHARE * (until - start));
  const high = Math.ceil(until + margin);
  return [Math.max(0, Math.floor(start - margin)), last === null ? high : Math.min(high, Math.max(last, start + 1))];
}

/** @param {RunState} state @param {import("../lib/router.js").PageContext} context @param {() => void} follow called after the address has changed */
export function createActions(state, { setQuery }, follow) {
  /** @param {Parameters<typeof setQuery>[0]} changes @param {boolean | string} push */
  function change(changes, push = true) {
    setQuery(changes, { push });
    follow();
  }

  /** @param {[number, number] | null} range on the axis; null: everything @param {boolean | string} push */
  function zoomTo(range, push) {
    if (range && !(range[1] > range[0])) return;
    change(range ? rangeToQuery(range, state.shared.axis) : { from: null, to: null }, push);
  }
  const zoom = (/** @type {[number, number] | null} */ range) => zoomTo(range, true);

  return {
    zoom,
    /** Zoom or pan once more: a sequence of them is one entry of the history. @param {[number, number]} range on the axis */
    nudge: (range) => zoomTo(range, "zoom"),
    /** @param {[number, number] | null} steps */
    zoomToSteps: (steps) => zoom(steps && axisRange(state, steps)),
    /** @param {import("../charts/curves.js").Axis} axis */
    setAxis: (axis) => change({ axis: axis === "step" ? null : axis, from: null, to: null }),
    /** @param {boolean} on */
    setXLog: (on) => change({ xlog: on ? "1" : null }),
    /** Pin or unpin what has these labels, in all charts. @param {string} key */
    pin(key) {
      const { pins } = state.viewOptions;
      setQuery({ pin: pins.includes(key) ? pins.filter((each) => each !== key) : [...pins, key] });
      follow();
    },
    /** Select an incident: the charts zoom to it and show its evidence. @param {IncidentView | null} incident */
    select(incident) {
      if (!incident) return change({ incident: null });
      const around = stepsAround(incident, state.run.last_step);
      change({ incident: String(incident.id), axis: null, ...rangeToQuery(around, "step") });
    },
    /** @param {string} metric */
    addChart: (metric) => change({ chart: [metric, ...state.viewOptions.charts] }),
    /** @param {string} metric */
    removeChart: (metric) => change({ chart: state.viewOptions.charts.filter((name) => name !== metric) }),
    /** @param {number} strength */
    smooth(strength) {
      prefs.set("smoothing", String(strength));
      setQuery({ smooth: strength ? String(strength) : null });
    },
    /** @param {import("../charts/view_options.js").Mode} mode @param {string} metric */
    toggle(mode, metric) {
      const metrics = toggleMetric(state.viewOptions.modes, mode, metric);
      if (mode === "log") prefs.storeLogMode(metric, metrics.includes(metric));
      setQuery({ [mode]: metrics });
      follow();
    },
  };
}

/** A range of steps on the axis of the charts. @param {RunState} state @param {[number, number]} steps @returns {[number, number]} */
function axisRange({ scale, run, shared }, steps) {
  if (scale === null) return stepsToAxis(run.strip, shared.axis, steps);
  const [from, to] = steps.map((step) => scale.at(step, undefined, null));
  return [from, to];
}

/** A range as query parameters: steps, Unix seconds or values of the axis. @param {[number, number]} range @param {import("../charts/curves.js").Axis} axis */
function rangeToQuery(range, axis) {
  const whole = axis === "step" || axis === "time";
  const [from, to] = range.map((x) =>
    String(whole ? Math.round(axis === "time" ? x / 1000 : x) : Number(x.toPrecision(8))),
  );
  return { from, to };
}

const ZOOM_IN = 0.5;
const ZOOM_OUT = 2;
const PAN = 0.3; // share of the range

/**
 * A range shifted by a share of its length and scaled about its middle. Pure.
 * @param {[number, number]} range @param {number} shift @param {number} factor @returns {[number, number]}
 */
export function moved([low, high], shift, factor) {
  const span = high - low;
  const middle = (low + high) / 2 + shift * span;
  return [middle - (span * factor) / 2, middle + (span * factor) / 2];
}

/**
 * @param {AbortSignal} signal
 * @param {{ zoom: (range: [number, number] | null) => void, nudge: (range: [number, number]) => void, range: () => [number, number] | null,
 *   otherAxis: () => void, toggleLog: () => void }} actions
 */
export function bindKeys(signal, { zoom, nudge, range, otherAxis, toggleLog }) {
  const by = (/** @type {number} */ shift, /** @type {number} */ factor) => () => {
    const current = range();
    if (current) nudge(moved(current, shift, factor));
  };
  keys.bind(signal, [
    { keys: "+, =", label: "Zoom in", run: by(0, ZOOM_IN) },
    { keys: "-", label: "Zoom out", run: by(0, ZOOM_OUT) },
    { keys: "ArrowLeft", label: "Pan left", run: by(-PAN, 1) },
    { keys: "ArrowRight", label: "Pan right", run: by(PAN, 1) },
    { keys: "0", label: "Reset zoom", run: () => zoom(null) },
    { keys: "x", label: "Switch the x axis between steps and time", run: otherAxis },
    { keys: "l", label: "Switch the first chart between linear and logarithmic", run: toggleLog },
  ]);
}
