// @ts-check
/** The texts of a chart: values at the crosshair, and the list of values that are not finite. */

import { nearestPoints, nonfiniteRuns } from "./curves.js";
import { shortName } from "./legend.js";
import { COLOURED, colours, labelText } from "./traces.js";
import { metricUnit } from "../lib/catalogue.js";
import { h, refill } from "../lib/dom.js";
import { clock, count, duration, number, reading, si, step as stepText } from "../lib/format.js";
import { icon } from "../lib/icons.js";

/** @typedef {import("./curves.js").ChartCurve} ChartCurve */
/** @typedef {import("./traces.js").Picture} Picture */

/**
 * A function that returns the value of a series at one x position, as text. Pure.
 * @param {Picture} picture @param {number} position @returns {(curve: ChartCurve) => string}
 */
export function valueReader({ axis, role }, position) {
  return (series) => {
    const { live, ghost } = nearestPoints(series, axis, position);
    const hit = live ?? ghost;
    return hit ? reading(role, hit.value) : "–";
  };
}

/** A position on the x axis as text: nothing on an axis of steps, whose step is stated anyway. @param {import("./curves.js").Axis} axis @param {number} x @param {number | null} time */
function positionText(axis, x, time) {
  if (axis === "time") return clock(time);
  if (axis === "relative") return duration(x);
  return axis === "step" ? "" : si(x, 4);
}

/** @param {import("./panel.js").ChartPlan} plan */
export function createReadout(plan) {
  const element = h("div", { class: "readout number" });
  const unitText = metricUnit(plan.role, plan.series[0]?.metric ?? "");
  const unit = () => (unitText ? h("small", {}, ` ${unitText}`) : null);
  return {
    element,
    /** @param {Picture} picture @param {number | null} x the crosshair's position; null: there is none */
    show(picture, x) {
      const { series, axis, role, range, focus } = picture;
      if (series.length === 0 || range === null)
        return refill(element, series.length ? "" : "no points in this range");
      const alone = series.length === 1;
      const crowded = Boolean(series[0].run) && series.length > COLOURED; // without a legend
      const focused = focus === null ? undefined : series.find((curve) => labelText(curve) === focus);
      const { live, ghost } = nearestPoints(focused ?? series[0], axis, x ?? range[1]);
      const hit = live ?? ghost;
      const byClock = plan.series[0]?.labels?.steps === "milliseconds"; // the steps are wall times
      const location =
        hit &&
        (byClock
          ? [clock(hit.time)]
          : [
              (axis === "step" || !series[0].computed) && `step ${stepText(Math.round(hit.step))}`,
              (x !== null || series[0].computed) && positionText(axis, x ?? range[1], hit.time),
            ]);
      refill(
        element,
        alone &&
          x !== null &&
          ghost &&
          h("span", { class: "readout-ghost" }, `attempt ${ghost.attempt}: ${reading(role, ghost.value)}`),
        h("span", { class: "quiet" }, location ? location.filter(Boolean).join(", ") : ""),
        crowded && focused && x !== null && hit && nameAndValue(picture, focused, reading(role, hit.value), unit()),
        alone && h("b", {}, hit ? reading(role, hit.value) : "–", unit()),
      );
    },
  };
}

/** The line at the pointer. @param {Picture} picture @param {ChartCurve} curve @param {string} value @param {Node | null} unit */
function nameAndValue(picture, curve, value, unit) {
  const colour = colours(picture)[picture.series.indexOf(curve)];
  return h(
    "span",
    { class: "readout-series" },
    h("i", { style: { background: colour } }),
    h("span", {}, shortName(curve, picture.series)),
    h("b", {}, value, unit),
  );
}

const MAX_LISTED = 6; // runs of non-finite values; the rest is counted

export function createNote() {
  const element = h("p", { class: "panel-note", hidden: true });

  /** @param {string} sign @param {string} text */
  function showText(sign, text) {
    element.hidden = text === "";
    refill(element, icon(sign), h("span", {}, text));
  }
  return {
    element,
    /** @param {string} reason */
    fail: (reason) => showText("warning", reason),
    /** @param {ChartCurve[]} series */
    show: (series) => showText("critical", nonfiniteText(series)),
  };
}

/** Which values are not finite, as text; empty if all are. @param {ChartCurve[]} series */
function nonfiniteText(series) {
  const total = series.reduce((sum, curve) => sum + curve.nonfinite_count, 0);
  if (total === 0) return "";
  const runs = series.flatMap((curve) => {
    const name = series.length > 1 ? `${shortName(curve, series)} ` : "";
    return nonfiniteRuns(curve).map((run) => name + nonfiniteRunText(run));
  });
  const rest = runs.length > MAX_LISTED ? `, and ${runs.length - MAX_LISTED} more ranges` : "";
  return `${count(total, "non-finite value")}: ${runs.slice(0, MAX_LISTED).join("; ")}${rest}`;
}

/** @param {{ value: string, first: number, last: number }} run */
function nonfiniteRunText({ value, first, last }) {
  const steps = first === last ? stepText(first) : `${stepText(first)} to ${stepText(last)}`;
  return `${value === "NaN" ? "NaN" : number(value)} at ${steps}`;
}
