// @ts-check
/** The top of a run's page: its name, its health, its whole life and the numbers that matter. */

import { h, link, refill } from "../lib/dom.js";
import { count } from "../lib/format.js";
import { numbers } from "./summary_tiles.js";
import { stripControl } from "../charts/health_strip.js";
import { severityMark, severityRank } from "../lib/labels.js";
import { createSpent } from "./time_breakdown.js";

/** @typedef {import("../lib/types.js").RunDetail} RunDetail */
/** @typedef {import("../lib/types.js").Remark} Remark */

/** @param {{ onPick: (steps: [number, number] | null) => void, onSetUp: () => void }} reader */
export function createHeadline({ onPick, onSetUp }) {
  const name = h("header", { class: "run-headline" });
  const tiles = h("div", {});
  const strip = stripControl({ onPick });
  const spent = createSpent();
  /** @type {import("../lib/types.js").Throughput | null} */
  let throughput = null;
  const setUp = h("button", { type: "button", class: "text-button run-remarks", hidden: true, on: { click: onSetUp } });
  let again = () => {};

  /** @param {RunDetail} run @param {import("../lib/types.js").ChartSeries | undefined} loss the loss as charted, for its slope */
  function show(run, loss) {
    again = () => show(run, loss);
    refill(name, title(run), health(run), setUp);
    refill(tiles, numbers(run, loss, throughput));
    spent.show(run.spent);
  }
  return {
    element: h("div", { class: "monitor" }, name, strip.element, tiles, spent.element),
    show,
    /** @param {import("../lib/types.js").Throughput} found what the run reports of its throughput, and Holter's own */
    learn(found) {
      throughput = found;
      again();
    },
    /** What is remarked on the set-up has one word beside the health: it is no incident. @param {Remark[]} found each once */
    remark(found) {
      const said = remarksOf(found);
      setUp.hidden = said === null;
      if (said) refill(setUp, severityMark(...said));
    },
    /** @param {RunDetail} run @param {[number, number] | null} steps what the charts show; null: everything */
    showStrip: (run, steps) => strip.show(run.strip, steps),
  };
}

/** The gravest severity of remarks that warn, and how many do. Null: none does. Pure. @param {Remark[]} found @returns {[string, string] | null} */
export function remarksOf(found) {
  const warning = found.filter((one) => severityRank(one.severity) <= severityRank("warning"));
  if (warning.length === 0) return null;
  const worst = warning.some((one) => one.severity === "critical") ? "critical" : "warning";
  return [worst, `${count(warning.length, "remark")} on the set-up`];
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
