// @ts-check
/** All series of a run: the metric picker of the search field and the table below the charts. Fetched on first use. */

import * as api from "../lib/api.js";
import { h, refill } from "../lib/dom.js";
import { count, number, reading, seriesName, step as stepText } from "../lib/format.js";

/** @typedef {import("../lib/api_types.js").SeriesInfo} SeriesInfo */

/**
 * @param {{ runId: string, signal: AbortSignal, onPick: (metric: string) => void,
 *   isShown: (metric: string) => boolean }} options
 */
export function createSeriesList({ runId, signal, onPick, isShown }) {
  /** @type {SeriesInfo[]} */
  let series = [];
  /** @type {Promise<void> | null} */
  let loading = null;
  let fetchedCount = 0; // number of series when they were last fetched
  let loaded = false;
  const pick = (/** @type {MetricGroup} */ group) => onPick(group.metric);
  const picker = createPicker({ onPick: pick, isShown });
  const summary = h("summary", {});
  const frame = h("div", {});
  const filter = /** @type {HTMLInputElement} */ (
    h("input", {
      type: "search",
      class: "field series-filter",
      placeholder: "Filter series: loss, rank 37",
      "aria-label": "Filter series by words of a name or a label",
      autocomplete: "off",
      spellcheck: "false",
      on: { input: () => draw() },
    })
  );
  const element = /** @type {HTMLDetailsElement} */ (
    h("details", { class: "all-series" }, summary, filter, frame)
  );

  async function fetchSeries() {
    series = await api.seriesOf(runId, signal);
    loaded = true;
    picker.offer(series);
    draw();
  }

  function draw() {
    if (!element.open) return;
    const found = matchingSeries(series, filter.value);
    refill(frame, found.length ? seriesTable(found, pick, isShown) : h("p", { class: "quiet" }, "No matching series"));
  }

  /** @returns {Promise<void>} resolves when the series are loaded */
  function load() {
    loading ??= fetchSeries().catch((error) => {
      loading = null; // the next call tries again
      if (!signal.aborted) throw error;
    });
    return loading;
  }

  element.addEventListener("toggle", () => void load().then(draw, () => {}));
  return {
    element,
    picker,
    load,
    draw,
    all: () => series,
    /** Whether the series have been fetched. */
    known: () => loaded,
    /** @param {number} total the current number of series */
    show(total) {
      summary.textContent = total === 1 ? "1 series" : `All ${count(total, "series", "series")}`;
      const changed = total !== fetchedCount;
      fetchedCount = total;
      if (loading === null || !changed) return;
      loading = null;
      void load().catch(() => {});
    },
  };
}

/** @typedef {{ metric: string, role: string, series: SeriesInfo[] }} MetricGroup all series of one metric */

const MAX_OPTIONS = 40;
const MAX_ROWS = 300; // rows of the table; others are found by search

/** Series grouped by metric. Pure. @param {SeriesInfo[]} series @returns {MetricGroup[]} */
export function byMetric(series) {
  /** @type {Map<string, MetricGroup>} */
  const groups = new Map();
  for (const summary of series) {
    const group = groups.get(summary.metric) ?? { metric: summary.metric, role: summary.role, series: [] };
    group.series.push(summary);
    groups.set(summary.metric, group);
  }
  return [...groups.values()];
}

/** Series whose name and labels have every word; "rank 3" is not rank 37. Pure. @param {SeriesInfo[]} series @param {string} text */
export function matchingSeries(series, text) {
  const words = text.toLowerCase().split(/[\s,=]+/).filter(Boolean);
  const fits = (/** @type {string} */ name, /** @type {string} */ word) =>
    /^\d+$/.test(word) ? name.split(/[^0-9a-z.]+/).includes(word) : name.includes(word);
  return series.filter((each) => words.every((word) => fits(seriesName(each).toLowerCase(), word)));
}

/** Metrics whose name contains every word; those that begin with the first word come first. Pure. @param {MetricGroup[]} groups @param {string} text */
export function findMetrics(groups, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = groups.filter((group) => words.every((word) => group.metric.toLowerCase().includes(word)));
  const rank = (/** @type {MetricGroup} */ group) =>
    group.metric.toLowerCase().startsWith(words[0] ?? "") ? 0 : 1;
  return fits.sort((a, b) => rank(a) - rank(b));
}

/**
 * @param {{ onPick: (group: MetricGroup) => void, isShown: (metric: string) => boolean }} options
 */
export function createPicker({ onPick, isShown }) {
  const element = h("div", { class: "picker", role: "listbox", "aria-label": "Metrics", hidden: true });
  /** @type {MetricGroup[]} */
  let groups = [];
  /** @type {MetricGroup[]} */
  let matches = [];
  let selectedIndex = 0;

  function draw() {
    const options = matches.slice(0, MAX_OPTIONS).map((group, i) =>
      h(
        "div",
        {
          role: "option",
          "aria-selected": String(i === selectedIndex),
          class: "picker-option",
          on: { pointerdown: (/** @type {Event} */ event) => (event.preventDefault(), pick(group)) },
        },
        h("span", {}, group.metric),
        h("span", { class: "quiet number" }, groupText(group), isShown(group.metric) ? ", shown" : ""),
      ),
    );
    const more =
      matches.length > MAX_OPTIONS
        ? h("p", { class: "quiet" }, `${matches.length - MAX_OPTIONS} more: type to narrow down`)
        : null;
    refill(element, options.length ? options : h("p", { class: "quiet" }, "No matching metrics"), more);
  }

  /** @param {MetricGroup} group */
  function pick(group) {
    element.hidden = true;
    onPick(group);
  }

  return {
    element,
    /** @param {SeriesInfo[]} series */
    offer: (series) => void (groups = byMetric(series)),
    /** @param {string} text */
    type(text) {
      matches = findMetrics(groups, text);
      selectedIndex = 0;
      element.hidden = text.trim() === "";
      if (!element.hidden) draw();
    },
    hide: () => void (element.hidden = true),
    /** @param {KeyboardEvent} event */
    key(event) {
      if (element.hidden || matches.length === 0) return;
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        selectedIndex = Math.max(
          0,
          Math.min(matches.length - 1, MAX_OPTIONS - 1, selectedIndex + (event.key === "ArrowDown" ? 1 : -1)),
        );
        event.preventDefault();
        draw();
      }
      if (event.key === "Enter") pick(matches[selectedIndex]);
    },
  };
}

/** @param {MetricGroup} group */
const groupText = ({ series, role }) =>
  series.length > 1 ? count(series.length, "series", "series") : reading(role, series[0].last_value);

/** The table of all series. @param {SeriesInfo[]} series @param {(group: MetricGroup) => void} onPick @param {(metric: string) => boolean} isShown */
export function seriesTable(series, onPick, isShown) {
  const groups = new Map(byMetric(series).map((group) => [group.metric, group]));
  const head = ["Series", "Points", "Last step", "Last value", "Min", "Max", "NaN/Inf", ""].map(
    (text, i) => h("th", { scope: "col", class: i ? "right" : "" }, text),
  );
  const rows = series.slice(0, MAX_ROWS).map((summary) => {
    const group = /** @type {MetricGroup} */ (groups.get(summary.metric));
    const add = isShown(summary.metric)
      ? h("span", { class: "quiet" }, "shown")
      : h(
          "button",
          { type: "button", class: "text-button", on: { click: () => onPick(group) } },
          "Add chart",
        );
    const cells = [
      pointsText(summary),
      stepText(summary.last_step),
      reading(summary.role, summary.last_value),
      valueText(summary, summary.minimum),
      valueText(summary, summary.maximum),
      summary.nonfinite ? number(summary.nonfinite) : "–",
    ];
    return h(
      "tr",
      {},
      h("th", { scope: "row" }, seriesName(summary)),
      cells.map((text) => h("td", { class: "number right" }, text)),
      h("td", { class: "right" }, add),
    );
  });
  return h(
    "div",
    { class: "table-frame" },
    h("table", { class: "series-table" }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows)),
    series.length > MAX_ROWS &&
      h(
        "p",
        { class: "quiet" },
        `${count(series.length - MAX_ROWS, "more", "more")}: type part of a name or a label to find one`,
      ),
  );
}

/** The number of points, and how many were logged if retention has removed some. @param {SeriesInfo} series */
const pointsText = ({ points, logged }) =>
  logged > points ? `${stepText(points)} of ${stepText(logged)}` : stepText(points);

/** @param {SeriesInfo} series @param {unknown} value */
const valueText = ({ role }, value) => (value === null ? "–" : reading(role, value));
