// @ts-check
/** What stands under a chart: values that are no numbers, or why there is nothing new. */

import { nonfiniteRuns } from "./curves.js";
import { h, refill } from "../lib/dom.js";
import { count, number, step as stepText } from "../lib/format.js";
import { icon } from "../lib/icons.js";
import { shortName } from "./legend.js";

/** @typedef {import("../lib/types.js").ChartSeries} ChartSeries */

const NAMED = 6; // stretches; the rest is counted

export function createNote() {
  const element = h("p", { class: "panel-note", hidden: true });

  /** @param {string} sign @param {string} text */
  function say(sign, text) {
    element.hidden = text === "";
    refill(element, icon(sign), h("span", {}, text));
  }
  return {
    element,
    /** @param {string} reason */
    fail: (reason) => say("warning", reason),
    /** @param {ChartSeries[]} series */
    show: (series) => say("critical", nonfiniteText(series)),
  };
}

/** Where values were not finite, empty where all were. @param {ChartSeries[]} series */
function nonfiniteText(series) {
  const total = series.reduce((sum, one) => sum + one.nonfinite_count, 0);
  if (total === 0) return "";
  const runs = series.flatMap((one) => {
    const name = series.length > 1 ? `${shortName(one, series)} ` : "";
    return nonfiniteRuns(one).map((run) => name + stretchText(run));
  });
  const rest = runs.length > NAMED ? `, and ${runs.length - NAMED} more stretches` : "";
  return `${count(total, "value")} not finite: ${runs.slice(0, NAMED).join("; ")}${rest}`;
}

/** @param {{ value: string, first: number, last: number }} run */
function stretchText({ value, first, last }) {
  const steps = first === last ? stepText(first) : `${stepText(first)} to ${stepText(last)}`;
  return `${value === "NaN" ? "NaN" : number(value)} at ${steps}`;
}
