// @ts-check
/** The top of a run's page: its name, its health, its whole life and the numbers that matter. */

import { h, link, refill } from "../lib/dom.js";
import { count } from "../lib/format.js";
import { summaryTiles } from "./summary_tiles.js";
import { stripControl } from "../charts/health_strip.js";
import { severityMark, severityRank } from "../lib/labels.js";
import { createTimeBreakdown } from "./time_breakdown.js";

/** @typedef {import("../lib/types.js").RunDetail} RunDetail */
/** @typedef {import("../lib/types.js").Remark} Remark */

/** @param {{ onPick: (steps: [number, number] | null) => void, onSetUp: () => void }} reader */
export function createHeadline({ onPick, onSetUp }) {
  const name = h("header", { class: "run-headline" });
  const tiles = h("div", {});
  const strip = stripControl({ onPick });
  const timeBreakdown = createTimeBreakdown();
  /** @type {import("../lib/types.js").Throughput | null} */
  let throughput = null;
  const diagnosticsButton = h("button", { type: "button", class: "text-button run-remarks", hidden: true, on: { click: onSetUp } });
  let redraw = () => {};

  /** @param {RunDetail} run @param {import("../lib/types.js").ChartSeries | undefined} loss the loss as charted, for its slope */
  function show(run, loss) {
    redraw = () => show(run, loss);
    refill(name, title(run), health(run), diagnosticsButton);
    refill(tiles, summaryTiles(run, loss, throughput));
    timeBreakdown.show(run.spent);
  }
  return {
    element: h("div", { class: "monitor" }, name, strip.element, tiles, timeBreakdown.element),
    show,
    /** @param {import("../lib/types.js").Throughput} result what the run reports of its throughput, and Holter's own */
    learn(result) {
      throughput = result;
      redraw();
    },
    /** What is remarked on the set-up has one word beside the health: it is no incident. @param {Remark[]} diagnostics each once */
    remark(diagnostics) {
      const summary = diagnosticSummary(diagnostics);
      diagnosticsButton.hidden = summary === null;
      if (summary) refill(diagnosticsButton, severityMark(...summary));
    },
    /** @param {RunDetail} run @param {[number, number] | null} steps what the charts show; null: everything */
    showStrip: (run, steps) => strip.show(run.strip, steps),
  };
}

/** The gravest severity of remarks that warn, and how many do. Null: none does. Pure. @param {Remark[]} diagnostics @returns {[string, string] | null} */
export function diagnosticSummary(diagnostics) {
  const warning = diagnostics.filter((diagnostic) => severityRank(diagnostic.severity) <= severityRank("warning"));
  if (warning.length === 0) return null;
  const worst = warning.some((diagnostic) => diagnostic.severity === "critical") ? "critical" : "warning";
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
