// @ts-check
/** What stands under a chart: values that are no numbers, or why there is nothing new. */

import { nonfiniteRuns } from "./curves.js";
import { h, refill } from "../lib/dom.js";
import { count, number, step as stepText } from "../lib/format.js";
import { icon } from "../lib/icons.js";
import { shortName } from "./legend.js";

/** @typedef {import("../lib/types.js").ChartSeries} ChartSeries */

const MAX_LISTED = 6; // stretches; the rest is counted

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
    /** @param {ChartSeries[]} series */
    show: (series) => showText("critical", nonfiniteText(series)),
  };
}

/** Where values were not finite, empty where all were. @param {ChartSeries[]} series */
function nonfiniteText(series) {
  const total = series.reduce((sum, curve) => sum + curve.nonfinite_count, 0);
  if (total === 0) return "";
  const runs = series.flatMap((curve) => {
    const name = series.length > 1 ? `${shortName(curve, series)} ` : "";
    return nonfiniteRuns(curve).map((run) => name + nonfiniteRunText(run));
  });
  const rest = runs.length > MAX_LISTED ? `, and ${runs.length - MAX_LISTED} more stretches` : "";
  return `${count(total, "value")} not finite: ${runs.slice(0, MAX_LISTED).join("; ")}${rest}`;
}

/** @param {{ value: string, first: number, last: number }} run */
function nonfiniteRunText({ value, first, last }) {
  const steps = first === last ? stepText(first) : `${stepText(first)} to ${stepText(last)}`;
  return `${value === "NaN" ? "NaN" : number(value)} at ${steps}`;
}
