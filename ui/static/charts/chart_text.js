// @ts-check
/** A chart as a sentence, for readers who do not see it: what it shows, its trend and its extremes. Pure. */

import { shortName } from "./legend.js";
import { namedSeries } from "./traces.js";
import { count, reading, step as stepText } from "../lib/format.js";

/** @typedef {import("./curves.js").ChartCurve} ChartCurve */
/** @typedef {import("./traces.js").Picture} Picture */

const FLAT = 0.02; // share of the range: a smaller change is no trend
const MAX_NAMED = 4; // series described one by one

/** @param {import("./panel.js").ChartPlan} plan @param {Picture} picture @param {string} [axisName] such as "tokens" */
export function chartText(plan, picture, axisName = picture.axis === "time" ? "wall time" : "step") {
  const { series, role, incidents } = picture;
  const title = `${plan.title} by ${axisName}`;
  if (series.length === 0) return `${title}: no points in this range.`;
  const named = series.length === 1 ? series : namedSeries(picture).slice(0, MAX_NAMED);
  const sentences = named.map((curve) => {
    const name = series.length === 1 ? "" : `${shortName(curve, series)}: `;
    return name + curveText(curve, role);
  });
  const rest = series.length - named.length;
  return [
    `${title}${series.length > 1 ? `, ${series.length} series` : ""}. ${sentences.join(" ")}`,
    rest > 0 ? `And ${count(rest, "other", "others")}.` : "",
    incidents.length ? `${count(incidents.length, "incident")}.` : "",
  ]
    .filter(Boolean)
    .join(" ");
}

/** @param {ChartCurve} curve @param {string} role */
export function curveText({ segments, nonfinite_count: nonfinite }, role) {
  const live = segments.filter((segment) => !segment.ghost && segment.step.length > 0);
  if (live.length === 0) return "no finite values.";
  const first = live[0];
  const last = live[live.length - 1];
  let low = { value: Infinity, step: 0 };
  let high = { value: -Infinity, step: 0 };
  for (const { step, value } of live)
    for (let i = 0; i < value.length; i++) {
      if (value[i] < low.value) low = { value: value[i], step: step[i] };
      if (value[i] > high.value) high = { value: value[i], step: step[i] };
    }
  const [from, to] = [first.value[0], last.value[last.value.length - 1]];
  const trend =
    Math.abs(to - from) <= FLAT * (high.value - low.value) ? "flat" : to > from ? "rising" : "falling";
  const at = (/** @type {{ value: number, step: number }} */ { value, step }) =>
    `${reading(role, value)} at step ${stepText(step)}`;
  const ends = `from ${at({ value: from, step: first.step[0] })} to ${at({ value: to, step: last.step[last.step.length - 1] })}`;
  const bad = nonfinite ? ` ${count(nonfinite, "value")} NaN or Inf.` : "";
  return `${trend}, ${ends}; minimum ${at(low)}, maximum ${at(high)}.${bad}`;
}
