// @ts-check
/** Ranks of a run as a heat map: rank by step of any metric with labels, hosts together, the slowest first. */

import { gridOf } from "../lib/chart_api.js";
import { h, refill } from "../lib/dom.js";
import { count, reading, step as stepText } from "../lib/format.js";
import { colourScale, drawHeatMap } from "./heat_map.js";
import { groupedRows, rowName, rowsOf, sortedRows } from "./rank_rows.js";

/** @typedef {import("../lib/chart_api.js").Grid} Grid */
/** @typedef {import("../lib/api_types.js").MetricChart} MetricChart */
/** @typedef {import("./rank_rows.js").Row} Row */

const LABEL_WIDTH = 112; // pixels for the names of rows
const ROW_HEIGHT = { least: 2, most: 16 }; // pixels
const MAX_HEIGHT = 640; // pixels of the map
const SLOWEST = 8; // rows named next to the map
const ORDERS = /** @type {[string, string][]} */ ([
  ["rank", "By rank"],
  ["slowest", "Slowest first"],
]);
const ROLES = ["compute_time", "step_time", "collective_time"]; // shown first

/**
 * @param {{ runId: string, signal: AbortSignal, steps: () => { from: number | null, to: number | null },
 *   palette: () => Record<string, string>, onPin: (key: string) => void, pinned: () => string[],
 *   onZoom: (steps: [number, number]) => void }} options
 */
export function createRanks({ runId, signal, steps, palette, onPin, pinned, onZoom }) {
  const metricSelect = /** @type {HTMLSelectElement} */ (h("select", { class: "select", "aria-label": "Metric" }));
  const groupSelect = /** @type {HTMLSelectElement} */ (h("select", { class: "select", "aria-label": "Rows" }));
  const orderSelect = /** @type {HTMLSelectElement} */ (h("select", { class: "select", "aria-label": "Order" }));
  refill(orderSelect, ORDERS.map(([value, text]) => h("option", { value }, text)));
  const canvas = /** @type {HTMLCanvasElement} */ (h("canvas", { class: "heat-map", tabindex: 0, role: "img" }));
  const readout = h("p", { class: "readout number heat-readout" });
  const list = h("ol", { class: "slowest-rows" });
  const legend = h("div", { class: "heat-legend number" });
  const note = h("p", { class: "quiet" });
  const body = h(
    "div",
    { class: "ranks-body" },
    h("div", { class: "chart-tools" }, metricSelect, groupSelect, orderSelect, legend, h("span", { class: "spacer" }), readout),
    h("div", { class: "ranks-columns" }, h("div", { class: "heat-frame" }, canvas), h("div", {}, h("h3", {}, "Slowest"), list)),
    note,
  );
  const summary = h("summary", {}, "Ranks");
  const element = /** @type {HTMLDetailsElement} */ (h("details", { class: "all-series ranks", hidden: true }, summary, body));

  /** @type {MetricChart[]} */
  let charts = [];
  /** @type {Grid | null} */
  let grid = null;
  /** @type {Row[]} */
  let rows = [];
  let selected = -1;

  async function load() {
    if (!element.open || charts.length === 0) return;
    const metric = metricSelect.value;
    const columns = Math.max(60, Math.min(600, Math.round(canvas.parentElement?.clientWidth ?? 400) - LABEL_WIDTH));
    try {
      grid = await gridOf(runId, metric, { ...steps(), columns }, signal);
    } catch (error) {
      if (!signal.aborted) note.textContent = /** @type {Error} */ (error).message;
      return;
    }
    offerGroups(grid);
    draw();
  }

  /** @param {Grid} current */
  function offerGroups({ labels }) {
    const names = [...new Set(labels.flatMap((own) => Object.keys(own)))];
    const before = groupSelect.value;
    const options = names.filter((name) => new Set(labels.map((own) => own[name])).size < labels.length);
    refill(
      groupSelect,
      h("option", { value: "" }, "Every series"),
      options.map((name) => h("option", { value: name }, `By ${name}`)),
    );
    groupSelect.value = options.includes(before) ? before : "";
    groupSelect.hidden = options.length === 0;
  }

  /** @returns {string} the role of the metric shown */
  const role = () => charts.find(({ metric }) => metric === metricSelect.value)?.role ?? "other";

  function draw() {
    if (!grid) return;
    const all = rowsOf(grid);
    const grouped = groupSelect.value ? groupedRows(all, groupSelect.value) : all;
    rows = sortedRows(grouped, orderSelect.value);
    const height = Math.max(
      ROW_HEIGHT.least,
      Math.min(ROW_HEIGHT.most, Math.floor(MAX_HEIGHT / Math.max(1, rows.length))),
    );
    const scale = colourScale(rows);
    drawHeatMap(canvas, { rows, columns: grid.columns, height, scale, palette: palette(), pinned: pinned(), labelWidth: LABEL_WIDTH, selected });
    const slowest = sortedRows(grouped, "slowest").slice(0, SLOWEST);
    canvas.setAttribute("aria-label", heatText(slowest));
    refill(
      legend,
      h("span", {}, reading(role(), scale.low)),
      h("i", { class: "heat-scale" }),
      h("span", {}, reading(role(), scale.high)),
    );
    refill(
      list,
      slowest.map((row) =>
        h(
          "li",
          {},
          h(
            "button",
            {
              type: "button",
              class: "legend-pin",
              "aria-pressed": String(pinned().includes(row.key)),
              title: "Pin in all charts",
              on: { click: () => pin(row) },
            },
            h("span", {}, rowName(row)),
            h("b", { class: "number" }, reading(role(), row.average)),
          ),
        ),
      ),
    );
    note.textContent =
      grid.rows_total > grid.labels.length
        ? `The first ${stepText(grid.labels.length)} of ${count(grid.rows_total, "series", "series")}.`
        : "";
  }

  /** @param {Row[]} slowest */
  function heatText(slowest) {
    const first = grid?.first_step ?? 0;
    const named = slowest.slice(0, 3).map((row) => `${rowName(row)} ${reading(role(), row.average)}`);
    return (
      `Heat map of ${metricSelect.value}, ${count(rows.length, "row")}, steps ${stepText(first)} to ${stepText(grid?.last_step ?? 0)}. ` +
      `Highest mean: ${named.join(", ")}.`
    );
  }

  /** @param {Row} row */
  function pin(row) {
    onPin(row.key);
    draw();
  }

  /** The row and column below the pointer. @param {PointerEvent} event */
  function cellAt(event) {
    if (!grid || rows.length === 0) return null;
    const box = canvas.getBoundingClientRect();
    const row = Math.floor(((event.clientY - box.top) / box.height) * rows.length);
    const share = (event.clientX - box.left - LABEL_WIDTH) / (box.width - LABEL_WIDTH);
    const column = Math.floor(share * grid.columns);
    if (!rows[row]) return null;
    return { row, column: column >= 0 && column < grid.columns ? column : null };
  }

  /** @param {number} row @param {number | null} column */
  function read(row, column) {
    const current = rows[row];
    if (!grid || !current) return refill(readout);
    const { first_step: first, last_step: last, columns } = grid;
    const from = (first ?? 0) + Math.round(((column ?? 0) / columns) * ((last ?? 0) - (first ?? 0) + 1));
    const value = column === null ? current.average : current.mean[column];
    refill(
      readout,
      h("span", { class: "quiet" }, column === null ? "mean" : `step ${stepText(from)}`),
      h("span", {}, rowName(current)),
      h("b", {}, Number.isNaN(value) ? "no value" : reading(role(), value)),
    );
  }

  canvas.addEventListener("pointermove", (event) => {
    const cell = cellAt(event);
    if (cell) read(cell.row, cell.column);
  });
  canvas.addEventListener("pointerleave", () => refill(readout));
  canvas.addEventListener("click", (event) => {
    const cell = cellAt(/** @type {PointerEvent} */ (event));
    if (cell) pin(rows[cell.row]);
  });
  canvas.addEventListener("dblclick", (event) => {
    const cell = cellAt(/** @type {any} */ (event));
    if (!grid || !cell || cell.column === null || grid.first_step === null || grid.last_step === null) return;
    const width = (grid.last_step - grid.first_step + 1) / grid.columns;
    const centre = grid.first_step + cell.column * width;
    onZoom([Math.round(centre - 10 * width), Math.round(centre + 10 * width)]);
  });
  canvas.addEventListener("keydown", (event) => {
    const moves = /** @type {Record<string, number>} */ ({ ArrowDown: 1, ArrowUp: -1 });
    if (event.key in moves) {
      selected = Math.max(0, Math.min(rows.length - 1, selected + moves[event.key]));
      draw();
      read(selected, null);
      canvas.setAttribute("aria-label", `${rowName(rows[selected])}, mean ${reading(role(), rows[selected].average)}`);
    } else if (event.key === "Enter" && rows[selected]) pin(rows[selected]);
    else return;
    event.preventDefault();
  });
  metricSelect.addEventListener("change", () => void load());
  groupSelect.addEventListener("change", draw);
  orderSelect.addEventListener("change", draw);
  element.addEventListener("toggle", () => void load());
  const sizes = new ResizeObserver(() => grid && draw());
  sizes.observe(body);
  signal.addEventListener("abort", () => sizes.disconnect(), { once: true });

  return {
    element,
    load,
    redraw: draw,
    /** Offer the metrics with several series. @param {MetricChart[]} all */
    offer(all) {
      const rank = (/** @type {MetricChart} */ chart) => (ROLES.includes(chart.role) ? ROLES.indexOf(chart.role) : ROLES.length);
      charts = all.filter(({ series_count: size }) => size > 1).sort((a, b) => rank(a) - rank(b) || b.series_count - a.series_count);
      element.hidden = charts.length === 0;
      summary.textContent = charts.length
        ? `Ranks: heat map of ${count(charts.length, "metric")} with labels`
        : "Ranks";
      const before = metricSelect.value;
      refill(metricSelect, charts.map(({ metric, series_count: size }) => h("option", { value: metric }, `${metric} (${size})`)));
      if (charts.some(({ metric }) => metric === before)) metricSelect.value = before;
    },
  };
}
