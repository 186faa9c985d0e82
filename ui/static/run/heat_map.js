// @ts-check
/** Draws a heat map on a canvas: rows of values in one hue, pinned rows marked, names where there is room. */

import { rowName } from "./rank_rows.js";

/** @typedef {import("./rank_rows.js").Row} Row */

const LABEL_HEIGHT = 13; // pixels from one name of a row to the next
const OUTSIDE = 0.01; // share of the values that the scale leaves out at each end

/** The range of values that the colours cover, without outliers at its low end. Pure. @param {Row[]} rows @returns {{ low: number, high: number }} */
export function colourScale(rows) {
  /** @type {number[]} */
  const values = [];
  const size = rows.length * (rows[0]?.mean.length ?? 0);
  const every = Math.max(1, Math.floor(size / 50_000));
  let i = 0;
  for (const row of rows)
    for (const value of row.mean) if (!Number.isNaN(value) && i++ % every === 0) values.push(value);
  if (values.length === 0) return { low: 0, high: 1 };
  const sorted = Float64Array.from(values).sort();
  const low = sorted[Math.floor(OUTSIDE * (sorted.length - 1))];
  const slowest = Math.max(...rows.map((row) => row.average).filter((value) => !Number.isNaN(value)));
  const high = Math.max(sorted[Math.ceil((1 - OUTSIDE) * (sorted.length - 1))], slowest); // a single slow row must not saturate
  return { low, high: high > low ? high : low + Math.abs(low) * 0.01 + 1e-12 };
}

/** @param {string} colour "#rrggbb" @returns {[number, number, number]} */
const channels = (colour) =>
  /** @type {[number, number, number]} */ ([1, 3, 5].map((k) => parseInt(colour.slice(k, k + 2), 16)));

/**
 * @param {HTMLCanvasElement} canvas
 * @param {{ rows: Row[], columns: number, height: number, scale: { low: number, high: number },
 *   palette: Record<string, string>, pinned: string[], labelWidth: number, selected: number }} map `height`: of a row, in pixels
 */
export function drawHeatMap(canvas, { rows, columns, height, scale, palette, pinned, labelWidth, selected }) {
  const width = Math.max(200, canvas.parentElement?.clientWidth ?? 600);
  const total = Math.max(1, rows.length * height);
  const ratio = devicePixelRatio || 1;
  Object.assign(canvas, { width: Math.round(width * ratio), height: Math.round(total * ratio) });
  Object.assign(canvas.style, { width: `${width}px`, height: `${total}px` });
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, total);
  if (rows.length === 0) return;
  const picture = cells(rows, columns, scale, palette);
  const buffer = document.createElement("canvas");
  Object.assign(buffer, { width: columns, height: rows.length });
  buffer.getContext("2d")?.putImageData(picture, 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(buffer, labelWidth, 0, width - labelWidth, total);
  drawNames(context, { rows, height, palette, pinned, labelWidth, width, selected });
}

/** One pixel per cell, from paper to the critical hue. @param {Row[]} rows @param {number} columns @param {{ low: number, high: number }} scale @param {Record<string, string>} palette */
function cells(rows, columns, { low, high }, palette) {
  const picture = new ImageData(columns, rows.length);
  const stops = [palette["paper-raised"], palette["series-1"], palette["mark-critical"]].map(channels);
  const table = Array.from({ length: 256 }, (_, i) => {
    const at = (i / 255) * 2;
    const [a, b] = at < 1 ? [stops[0], stops[1]] : [stops[1], stops[2]];
    const share = at < 1 ? 0.12 + 0.88 * at : at - 1;
    return a.map((value, k) => Math.round(value + share * (b[k] - value)));
  });
  rows.forEach((row, r) => {
    for (let c = 0; c < columns; c++) {
      const value = row.mean[c];
      if (Number.isNaN(value)) continue; // transparent: no value
      const level = Math.max(0, Math.min(255, Math.round((255 * (value - low)) / (high - low))));
      const [red, green, blue] = table[level];
      picture.data.set([red, green, blue, 255], 4 * (r * columns + c));
    }
  });
  return picture;
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {{ rows: Row[], height: number, palette: Record<string, string>, pinned: string[], labelWidth: number, width: number, selected: number }} map
 */
function drawNames(context, { rows, height, palette, pinned, labelWidth, width, selected }) {
  const every = Math.max(1, Math.ceil(LABEL_HEIGHT / height));
  context.font = `11px ${getComputedStyle(context.canvas).fontFamily}`;
  context.textBaseline = "middle";
  context.textAlign = "right";
  let free = -Infinity;
  rows.forEach((row, r) => {
    const isMarked = pinned.includes(row.key) || r === selected;
    const middle = r * height + height / 2;
    if (isMarked) {
      context.strokeStyle = palette.accent;
      context.lineWidth = 1.5;
      context.strokeRect(labelWidth - 1, r * height - 0.5, width - labelWidth, Math.max(2, height) + 1);
    }
    if ((r % every !== 0 && !isMarked) || middle - free < LABEL_HEIGHT) return;
    context.fillStyle = isMarked ? palette.accent : palette["ink-quiet"];
    context.fillText(rowName(row), labelWidth - 6, Math.max(6, middle), labelWidth - 8);
    free = middle;
  });
}
