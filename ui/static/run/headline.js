// @ts-check
/** The top of a run's page: its name, its health, its whole life and the numbers that matter. */

import { h, link, refill } from "../dom.js";
import { count } from "../format.js";
import { numbers } from "../numbers.js";
import { stripControl } from "../strip.js";
import { severityMark } from "../words.js";
import { createSpent } from "./spent.js";

/** @typedef {import("../types.js").RunDetail} RunDetail */

/** @param {{ onPick: (steps: [number, number] | null) => void }} reader */
export function createHeadline({ onPick }) {
  const name = h("header", { class: "run-headline" });
  const tiles = h("div", {});
  const strip = stripControl({ onPick });
  const spent = createSpent();
  /** @type {import("../types.js").Throughput | null} */
  let throughput = null;
  let again = () => {};

  /** @param {RunDetail} run @param {import("../types.js").ChartSeries | undefined} loss the loss as charted, for its slope */
  function show(run, loss) {
    again = () => show(run, loss);
    refill(name, title(run), health(run));
    refill(tiles, numbers(run, loss, throughput));
    spent.show(run.spent);
  }
  return {
    element: h("div", { class: "monitor" }, name, strip.element, tiles, spent.element),
    show,
    /** @param {import("../types.js").Throughput} found what the run reports of its throughput, and Holter's own */
    learn(found) {
      throughput = found;
      again();
    },
    /** @param {RunDetail} run @param {[number, number] | null} steps what the charts show; null: everything */
    showStrip: (run, steps) => strip.show(run.strip, steps),
  };
}

/** @param {RunDetail} run */
function title({ name, project }) {
  const runs = link("/", {}, "Runs");
  const all = link(`/?project=${encodeURIComponent(project)}`, {}, project);
  return h("div", {}, h("p", { class: "crumbs quiet" }, runs, " / ", all), h("h1", {}, name));
}

/** @param {RunDetail} run */
function health({ health: worst, open_incidents: open }) {
  return severityMark(worst, worst === "ok" ? "Healthy" : count(open, "open incident"));
}
