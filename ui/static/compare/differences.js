// @ts-check
/** What differs between runs: sentences, statistics of the loss, and a table of settings, figures and incidents. */

import { h, refill } from "../lib/dom.js";
import { count, duration, number, percent } from "../lib/format.js";
import { toast } from "../lib/toasts.js";

/** @typedef {import("../lib/api_types.js").CompareDifferences} CompareDifferences */
/** @typedef {import("../lib/api_types.js").CompareStatistics} CompareStatistics */
/** @typedef {{ section: string, name: string, values: string[], quiet: boolean }} DifferenceRow */

const CATEGORIES = /** @type {Record<string, string>} */ ({
  configuration: "Configuration",
  launch: "Launch",
  environment: "Environment",
  hardware: "Hardware",
  identity: "Names, paths and times",
});
const MAX_OPEN_SUMMARIES = 3; // runs whose sentences are not folded together
const NOT_STATED = "not stated";
const VERDICTS = /** @type {Record<string, string>} */ ({
  lower: "lower",
  higher: "higher",
  none: "no difference",
  unknown: "not known",
});

/** @param {number | null} value */
const figureText = (value) => (value === null ? "–" : number(value, Number.isInteger(value) ? 1 : 4));
/** Figures that have units in their values. @type {Record<string, (value: number | null) => string>} */
const FIGURE_TEXTS = { duration, goodput: (value) => percent(value, 1) };

/** The rows of the table, in sections. Pure. @param {CompareDifferences} differences @returns {DifferenceRow[]} */
export function differenceRows({ settings, figures, incidents }) {
  const order = Object.keys(CATEGORIES);
  const sorted = [...settings].sort((a, b) => order.indexOf(a.category) - order.indexOf(b.category));
  const ofSettings = sorted.map(({ name, category, values, folded }) => ({
    section: CATEGORIES[category] ?? category,
    name,
    values: values.map((value) => (value === null ? NOT_STATED : value === "" ? "(empty)" : String(value))),
    quiet: folded || category === "identity",
  }));
  const differs = (/** @type {unknown[]} */ values) => new Set(values).size > 1;
  const ofFigures = figures.filter(({ values }) => differs(values)).map(({ name, title, unit, values }) => ({
    section: "Figures",
    name: unit && !(name in FIGURE_TEXTS) ? `${title} (${unit})` : title,
    values: values.map(FIGURE_TEXTS[name] ?? figureText),
    quiet: false,
  }));
  const ofIncidents = incidents.filter(({ counts }) => differs(counts)).map(({ title, counts }) => ({
    section: "Incidents",
    name: title,
    values: counts.map((each) => number(each, 1)),
    quiet: false,
  }));
  const first = ofSettings.filter((row) => !row.quiet);
  return [...first, ...ofFigures, ...ofIncidents, ...ofSettings.filter((row) => row.quiet)];
}

/** The table as text with tabs, for spreadsheets. Pure. @param {DifferenceRow[]} rows @param {string[]} names of the runs */
export function rowsAsText(rows, names) {
  const clean = (/** @type {string} */ text) => text.replace(/[\t\n\r]+/g, " ");
  return [["", ...names], ...rows.map(({ name, values }) => [name, ...values])]
    .map((line) => line.map(clean).join("\t"))
    .join("\n");
}

/** @param {(id: string) => string} colourOf a run */
export function createDifferences(colourOf) {
  const sentences = h("div", { class: "compare-sentences" });
  const statistics = h("div", { class: "compare-statistics" });
  const table = h("div", { class: "table-frame", tabindex: 0, role: "region", "aria-label": "What differs" });
  const note = h("p", { class: "quiet" });
  /** @type {{ rows: DifferenceRow[], names: string[] }} */
  let shown = { rows: [], names: [] };
  const copy = h("button", { type: "button", class: "button", on: { click: copyTable } }, "Copy table");
  const element = h(
    "section",
    { class: "compare-differences", "aria-label": "Differences" },
    h("div", { class: "row" }, h("h2", {}, "Differences only"), h("span", { class: "spacer" }), copy),
    note,
    table,
  );

  async function copyTable() {
    try {
      await navigator.clipboard.writeText(rowsAsText(shown.rows, shown.names));
      toast("Table copied");
    } catch {
      getSelection()?.selectAllChildren(table); // browsers allow no clipboard access without https
      toast("Selected: copy it with Ctrl-C");
    }
  }

  /** @param {CompareDifferences} differences */
  function show(differences) {
    const rows = differenceRows(differences);
    const names = differences.runs.map(({ name }) => name);
    shown = { rows, names };
    copy.hidden = rows.length === 0;
    const equal = differences.equal_settings;
    note.hidden = rows.length > 0 && equal === 0;
    note.textContent =
      rows.length === 0
        ? "Nothing that was logged differs between these runs."
        : `${count(equal, "setting")} ${equal === 1 ? "is" : "are"} equal and hidden.`;
    table.hidden = rows.length === 0;
    const heads = differences.runs.map(({ id, name }) =>
      h("th", { scope: "col" }, h("i", { class: "run-swatch", style: { background: colourOf(id) } }), name),
    );
    let section = "";
    const body = rows.flatMap((row) => {
      const line = h(
        "tr",
        { class: row.quiet ? "quiet" : "" },
        h("th", { scope: "row" }, row.name),
        row.values.map((value) => h("td", { class: /^[−\d]/.test(value) ? "number" : "" }, value)),
      );
      if (row.section === section) return [line];
      section = row.section;
      const head = h("th", { colspan: names.length + 1, scope: "colgroup" }, section);
      return [h("tr", { class: "section-row" }, head), line];
    });
    refill(
      table,
      h("table", { class: "difference-table" }, h("thead", {}, h("tr", {}, h("td", {}), heads)), h("tbody", {}, body)),
    );
    const list = summaryList(differences, colourOf);
    const heading = `Configuration, environment, speed and incidents of ${count(list.length, "run")} in words`;
    refill(
      sentences,
      list.length > MAX_OPEN_SUMMARIES ? h("details", {}, h("summary", {}, heading), list) : list,
    );
  }

  /** @param {CompareStatistics} answer */
  function showStatistics({ comparisons, runs, baseline }) {
    const nameOf = (/** @type {string} */ id) => runs.find((run) => run.id === id)?.name ?? id;
    refill(
      statistics,
      comparisons.length > 0 && h("h2", {}, `Loss against ${nameOf(baseline)}`),
      comparisons.map(({ run, verdict, sentence, paired }) =>
        h(
          "p",
          { class: `comparison comparison-${verdict}` },
          h("i", { class: "run-swatch", style: { background: colourOf(run) } }),
          h("b", {}, nameOf(run)),
          h("span", { class: "verdict" }, VERDICTS[verdict] ?? verdict, paired ? ", same batches" : ""),
          h("span", {}, sentence),
        ),
      ),
    );
  }

  return { element, sentences, statistics, show, showStatistics };
}

/** A sentence each for what differs between a run and the baseline. @param {CompareDifferences} differences @param {(id: string) => string} colourOf */
function summaryList({ summaries, runs }, colourOf) {
  const nameOf = (/** @type {string} */ id) => runs.find((run) => run.id === id)?.name ?? id;
  return summaries.map(({ run, configuration, environment, speed, incidents }) =>
    h(
      "details",
      { class: "run-summary", open: summaries.length === 1 },
      h("summary", {}, h("i", { class: "run-swatch", style: { background: colourOf(run) } }), nameOf(run)),
      h(
        "ul",
        {},
        [configuration, environment, speed, incidents].filter(Boolean).map((sentence) => h("li", {}, sentence)),
      ),
    ),
  );
}
