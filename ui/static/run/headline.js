// @ts-check
/** The top of the run page: name, health, health strip, summary tiles, time breakdown. */

import { stripControl, stripLegend } from "../charts/health_strip.js";
import { severityMark } from "../lib/badges.js";
import { severityRank } from "../lib/catalogue.js";
import { h, link, refill } from "../lib/dom.js";
import { count, duration, percent } from "../lib/format.js";
import { createDescription } from "./description.js";
import { summaryTiles } from "./summary_tiles.js";

/** @typedef {import("../lib/api_types.js").RunDetail} RunDetail */
/** @typedef {import("../lib/api_types.js").DiagnosticView} DiagnosticView */

/** @param {{ onPick: (steps: [number, number] | null) => void, onDiagnostics: () => void, onDescription: (run: RunDetail) => void }} events */
export function createHeadline({ onPick, onDiagnostics, onDescription }) {
  const name = h("header", { class: "run-headline" });
  const description = createDescription({ onChange: onDescription });
  const tiles = h("div", {});
  let drawnName = "";
  const strip = stripControl({ onPick });
  const legendOfStrip = stripLegend();
  const timeBreakdown = createTimeBreakdown();
  /** @type {import("../lib/api_types.js").ThroughputReport | null} */
  let throughput = null;
  const diagnosticsButton = h("button", {
    type: "button",
    class: "text-button launch-warnings",
    hidden: true,
    on: { click: onDiagnostics },
  });
  let redraw = () => {};

  /** @param {RunDetail} run */
  function show(run) {
    redraw = () => show(run);
    const { name: text, project, health: worst, open_incidents: open, unjudged } = run;
    const content = JSON.stringify([text, project, worst, open, unjudged]);
    if (content !== drawnName) refill(name, title(run), health(run), diagnosticsButton);
    drawnName = content;
    description.show(run);
    for (const part of [strip.element, legendOfStrip, tiles]) part.hidden = run.points === 0 && !run.damaged;
    refill(tiles, summaryTiles(run, throughput));
    timeBreakdown.show(run.spent);
  }
  return {
    element: h("div", { class: "monitor" }, name, description.element, strip.element, legendOfStrip, tiles, timeBreakdown.element),
    show,
    /** @param {import("../lib/api_types.js").ThroughputReport} result reported and computed throughput */
    showThroughput(result) {
      throughput = result;
      redraw();
    },
    /** Show the number of diagnostics next to the health. @param {DiagnosticView[]} diagnostics without repetitions */
    showDiagnostics(diagnostics) {
      const summary = diagnosticSummary(diagnostics);
      diagnosticsButton.hidden = summary === null;
      if (summary) refill(diagnosticsButton, severityMark(...summary));
    },
    /** @param {RunDetail} run @param {[number, number] | null} steps the range of the charts; null: everything */
    showStrip: (run, steps) => strip.show(run.strip, steps),
  };
}

/** The highest severity of diagnostics that are at least warnings, and their number; null without any. Pure. @param {DiagnosticView[]} diagnostics @returns {[string, string] | null} */
export function diagnosticSummary(diagnostics) {
  const warning = diagnostics.filter(
    (diagnostic) => severityRank(diagnostic.severity) <= severityRank("warning"),
  );
  if (warning.length === 0) return null;
  const worst = warning.some((diagnostic) => diagnostic.severity === "critical") ? "critical" : "warning";
  return [worst, count(warning.length, "diagnostic")];
}

/** @param {RunDetail} run */
function title({ name, project }) {
  const runs = link("/", {}, "Runs");
  const all = link(`/?project=${encodeURIComponent(project)}`, {}, project);
  return h("div", {}, h("p", { class: "crumbs quiet" }, runs, " / ", all), h("h1", {}, name));
}

/** @param {RunDetail} run */
function health({ health: worst, open_incidents: open, unjudged }) {
  if (worst !== "ok") return severityMark(worst, count(open, "open incident"));
  return unjudged ? severityMark("unknown", unjudged) : severityMark("ok");
}

/** @typedef {import("../lib/api_types.js").TimeSplit} TimeSplit */

/** @type {[keyof TimeSplit, string, string][]} */
const PARTS = [
  ["forward", "Productive", "Progress at the run's best speed"],
  ["slow", "Slow", "Progress below the run's best speed: the additional time"],
  ["superseded", "Redone", "Steps that a later attempt repeated"],
  ["restarts", "Restarts", "From the last point of an attempt to the first of the next"],
  ["stalled", "Stalled", "No progress within an attempt"],
  ["nonfinite", "NaN or infinite", "Steps at the end with a NaN or infinite loss"],
];
const MIN_SHARE = 0.005; // share of the time below which a part is left out

/** The parts of the time breakdown with share, seconds and title. Empty if almost no time was lost. Pure. @param {TimeSplit | null} spent */
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
      for (const { what: part, share } of parts) {
        const piece = h("span", { class: `time-${part}` });
        piece.style.flexGrow = String(share);
        bar.append(piece);
      }
      refill(element, bar, h("ul", { class: "time-parts" }, parts.map(legend)));
    },
  };
}

/** @param {ReturnType<typeof timeParts>[number]} part */
function legend({ what: part, name, title, share, seconds }) {
  return h(
    "li",
    { title },
    h("span", { class: `time-key time-${part}`, "aria-hidden": "true" }),
    h("span", {}, name),
    h("span", { class: "number quiet" }, `${percent(share, 1)}, ${duration(seconds)}`),
  );
}
