// @ts-check
/** The values under the crosshair, in the head of the chart; without a crosshair the newest ones. */

import { nearestPoints } from "./curves.js";
import { h, refill } from "../lib/dom.js";
import { clock, reading, step as stepText, unit } from "../lib/format.js";

/** @typedef {import("../lib/types.js").ChartSeries} ChartSeries */
/** @typedef {import("./traces.js").Picture} Picture */

/**
 * Reads values at one place of the axis. Pure.
 * @param {Picture} picture @param {number} position @returns {(one: ChartSeries) => string}
 */
export function valueReader({ axis, role }, position) {
  return (series) => {
    const { live, ghost } = nearestPoints(series, axis, position);
    const hit = live ?? ghost;
    return hit ? reading(role, hit.value) : "–";
  };
}

/** @param {import("../lib/types.js").ChartPlan} plan */
export function createReadout(plan) {
  const element = h("div", { class: "readout number" });
  const unitText = unit(plan.role, plan.series[0]?.metric ?? "");
  return {
    element,
    /** @param {Picture} picture @param {number | null} x the crosshair's place; null: there is none */
    show(picture, x) {
      const { series, axis, role, range } = picture;
      if (series.length === 0 || range === null)
        return refill(element, series.length ? "" : "no points here");
      const { live, ghost } = nearestPoints(series[0], axis, x ?? range[1]);
      const hit = live ?? ghost;
      const byClock = plan.series[0]?.labels?.steps === "milliseconds"; // its steps are the time
      const location =
        hit &&
        (byClock
          ? [clock(hit.time)]
          : [`step ${stepText(hit.step)}`, x !== null && axis === "time" && clock(hit.time)]);
      const alone = series.length === 1;
      refill(
        element,
        alone &&
          x !== null &&
          ghost &&
          h("span", { class: "readout-ghost" }, `attempt ${ghost.attempt}: ${reading(role, ghost.value)}`),
        h("span", { class: "quiet" }, location ? location.filter(Boolean).join(", ") : ""),
        alone &&
          h("b", {}, hit ? reading(role, hit.value) : "–", unitText ? h("small", {}, ` ${unitText}`) : null),
      );
    },
  };
}
