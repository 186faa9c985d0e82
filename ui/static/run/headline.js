// @ts-check
/** The top of a run's page: its name, its health, its whole life and the numbers that matter. */

import { stripControl } from "../charts/health_strip.js";
import { h, link, refill } from "../lib/dom.js";
import { count, duration, percent } from "../lib/format.js";
import { severityMark, severityRank } from "../lib/labels.js";
import { summaryTiles } from "./summary_tiles.js";

/** @typedef {import("../lib/api_types.js").RunDetail} RunDetail */
/** @typedef {import("../lib/api_types.js").DiagnosticView} DiagnosticView */

/** @param {{ onPick: (steps: [number, number] | null) => void, onSetUp: () => void }} reader */
export function createHeadline({ onPick, onSetUp }) {
  const name = h("header", { class: "run-headline" });
  const tiles = h("div", {});
  const strip = stripControl({ onPick });
  const timeBreakdown = createTimeBreakdown();
  /** @type {import("../lib/api_types.js").ThroughputReport | null} */
  let throughput = null;
  const diagnosticsButton = h("button", { type: "button", class: "text-button launch-warnings", hidden: true, on: { click: onSetUp } });
  let redraw = () => {};

  /** @param {RunDetail} run @param {import("../lib/api_types.js").ChartCurve | undefined} loss the loss as charted, for its slope */
  function show(run, loss) {
    redraw = () => show(run, loss);
    refill(name, title(run), health(run), diagnosticsButton);
    refill(tiles, summaryTiles(run, loss, throughput));
    timeBreakdown.show(run.spent);
  }
  return {
    element: h("div", { class: "monitor" }, name, strip.element, tiles, timeBreakdown.element),
    show,
    /** @param {import("../lib/api_types.js").ThroughputReport} result what the run reports of its throughput, and Holter's own */
    learn(result) {
      throughput = result;
      redraw();
    },
    /** What is remarked on the set-up has one word beside the health: it is no incident. @param {DiagnosticView[]} diagnostics each once */
    remark(diagnostics) {
      const summary = diagnosticSummary(diagnostics);
      diagnosticsButton.hidden = summary === null;
      if (summary) refill(diagnosticsButton, severityMark(...summary));
    },
    /** @param {RunDetail} run @param {[number, number] | null} steps what the charts show; null: everything */
    showStrip: (run, steps) => strip.show(run.strip, steps),
  };
}

/** The gravest severity of remarks that warn, and how many do. Null: none does. Pure. @param {DiagnosticView[]} diagnostics @returns {[string, string] | null} */
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

/** @typedef {import("../lib/api_types.js").TimeSplit} TimeSplit */

/** @type {[keyof TimeSplit, string, string][]} */
const PARTS = [
  ["forward", "forward", "Moved the run forward as fast as it can"],
  ["slow", "below own best", "Moved the run forward, slower than its own best speed: what that took longer"],
  ["superseded", "done again", "Steps that a later attempt did again"],
  ["restarts", "restarts", "From the last point of an attempt to the first of the next"],
  ["stalled", "stalled", "Stood still within an attempt"],
];
const MIN_SHARE = 0.005; // a share of the time that is worth a word

/** What there is to show of it: parts with share, seconds, words. Empty where next to nothing was lost. Pure. @param {TimeSplit | null} spent */
export function timeParts(spent) {
  if (!spent || 1 - spent.forward.share < MIN_SHARE) return [];
  return PARTS.map(([what, name, title]) => ({ what, name, title, ...spent[what] })).filter(
    (part) => part.what === "forward" || part.share >= MIN_SHARE,
  );
}

export function createTimeBreakdown() {
  const element = h("div", { class: "time-breakdown", hidden: true });
  return {
    element,
    /** @param {TimeSplit | null} spent */
    show(spent) {
      const parts = timeParts(spent);
      element.hidden = parts.length === 0;
      const bar = h("div", { class: "time-bar", "aria-hidden": "true" });
      for (const { what, share } of parts) {
        const piece = h("span", { class: `time-${what}` });
        piece.style.flexGrow = String(share);
        bar.append(piece);
      }
      refill(element, bar, h("ul", { class: "time-parts" }, parts.map(legend)));
    },
  };
}

/** @param {ReturnType<typeof timeParts>[number]} part */
function legend({ what, name, title, share, seconds }) {
  return h(
    "li",
    { title },
    h("span", { class: `time-key time-${what}`, "aria-hidden": "true" }),
    h("span", {}, name),
    h("span", { class: "number quiet" }, `${percent(share, 1)}, ${duration(seconds)}`),
  );
}
