// @ts-check
/** Charts are moved by dragging their titles, or with Ctrl-Shift and an arrow. */

import { announce } from "../lib/dom.js";

const TYPE = "application/x-holter-chart";
/** @type {Record<string, -1 | 1>} */
const KEYS = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 };

/**
 * @param {HTMLElement} element the chart's panel @param {string} metric
 * @param {{ onDrop: (moved: string, onto: string) => void, onMove: (metric: string, by: -1 | 1) => void }} events
 */
export function makeMovable(element, metric, { onDrop, onMove }) {
  const title = element.querySelector("h3");
  if (!title) return;
  element.dataset.movable = "";
  element.setAttribute("aria-keyshortcuts", "Control+Shift+ArrowLeft Control+Shift+ArrowRight");
  title.draggable = true;
  title.addEventListener("dragstart", (event) => {
    event.dataTransfer?.setData(TYPE, metric);
    event.dataTransfer?.setDragImage(element, 20, 14);
    element.classList.add("panel-dragged");
  });
  title.addEventListener("dragend", () => element.classList.remove("panel-dragged"));
  const isChart = (/** @type {DragEvent} */ event) => event.dataTransfer?.types.includes(TYPE) ?? false;
  element.addEventListener("dragover", (event) => {
    if (!isChart(event)) return;
    event.preventDefault();
    element.classList.add("panel-target");
  });
  element.addEventListener("dragleave", () => element.classList.remove("panel-target"));
  element.addEventListener("drop", (event) => {
    element.classList.remove("panel-target");
    if (!isChart(event)) return;
    event.preventDefault();
    const moved = event.dataTransfer?.getData(TYPE);
    if (moved && moved !== metric) onDrop(moved, metric);
  });
  element.addEventListener("keydown", (event) => {
    const by = KEYS[event.key];
    if (by === undefined || !event.shiftKey || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    event.stopPropagation();
    const focused = /** @type {HTMLElement | null} */ (document.activeElement);
    onMove(metric, by);
    focused?.focus();
    announce(`${title.textContent} moved ${by < 0 ? "earlier" : "later"}`);
  });
}
