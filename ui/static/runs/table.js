// @ts-check
/** The table of runs, of which only the visible rows exist: ten thousand scroll as ten do. */

import { h, refill } from "../lib/dom.js";
import { cardColumns, columnOf } from "./columns.js";

/** @typedef {import("../lib/api_types.js").RunInfo} RunInfo */
/** @typedef {import("../lib/api_types.js").RunSection} RunSection */
/** @typedef {{ heading: string, count: number } | { index: number }} Item a heading, or the row of a run */
/** @typedef {{ row: number, heading: number }} Heights in pixels */

const OVERSCAN = 8; // rows outside of what is visible
const PICTURES_PER_FRAME = 6;
const ROW = 2.25; // rem: 36 px
const CARD = 7.25; // rem
const CARD_WIDTH = 700; // px of the page, up to which runs are cards
export const SECTION_TITLES = {
  attention: "Needs attention",
  running: "Running",
  unresolved: "Unresolved, finished",
  finished: "Finished",
};

/**
 * What stands at each position of the table: headings and runs. Pure.
 * @param {number} found @param {Record<string, number> | null} sections null: without headings
 */
export function tableLayout(found, sections) {
  const parts = /** @type {[string, number][]} */ (
    sections ? Object.entries(SECTION_TITLES).map(([key, title]) => [title, sections[key] ?? 0]) : [["", found]]
  ).filter(([, size]) => size > 0);
  const headings = sections ? 1 : 0;
  let position = 0;
  let index = 0;
  const starts = parts.map(([title, size]) => {
    const start = { title, size, position, index };
    position += size + headings;
    index += size;
    return start;
  });
  const partAt = (/** @type {number} */ at) => starts.filter((start) => start.position <= at).at(-1) ?? starts[0];
  /** The distance of a position from the top. @param {number} at @param {Heights} heights */
  function offsetOf(at, { row, heading }) {
    if (starts.length === 0) return 0;
    const part = partAt(at);
    const before = headings * (starts.indexOf(part) + (at > part.position ? 1 : 0));
    return before * heading + (at - before) * row;
  }
  return {
    length: position,
    offsetOf,
    /** The position at a distance from the top. @param {number} offset @param {Heights} heights */
    positionAt(offset, heights) {
      let [low, high] = [0, Math.max(0, position - 1)];
      while (low < high) {
        const middle = Math.ceil((low + high) / 2);
        if (offsetOf(middle, heights) <= offset) low = middle;
        else high = middle - 1;
      }
      return low;
    },
    /** @param {number} at @returns {Item} */
    itemAt(at) {
      const part = partAt(at);
      if (headings && at === part.position) return { heading: part.title, count: part.size };
      return { index: part.index + at - part.position - headings };
    },
    /** The position of a run. @param {number} run */
    positionOf(run) {
      const part = starts.filter((start) => start.index <= run).at(-1) ?? starts[0];
      return part ? part.position + headings + run - part.index : 0;
    },
  };
}

/**
 * @param {{ rowAt: (index: number) => RunInfo | undefined, need: (from: number, to: number) => void,
 *   isSelected: (id: string) => boolean, onSelect: (index: number, event: { shift: boolean }) => void,
 *   onSort: (sort: string) => void }} options
 */
export function runTable({ rowAt, need, isSelected, onSelect, onSort }) {
  const head = h("div", { class: "table-row table-head", role: "row" });
  const headGroup = h("div", { class: "table-head-group", role: "rowgroup" }, head);
  const body = h("div", { class: "table-body", role: "rowgroup" });
  const element = h("div", { class: "run-table", role: "grid", "aria-label": "Runs", "aria-multiselectable": "true" }, headGroup, body);
  let layout = tableLayout(0, null);
  /** @type {string[]} */
  let keys = [];
  let sort = "";
  let active = -1;
  let isFocused = false;
  let frame = 0;
  /** @type {Map<number, { key: string, run: RunInfo | undefined, element: HTMLElement }>} */
  const rows = new Map();
  /** @type {Map<HTMLElement, () => void>} */
  const pictures = new Map();

  const rem = () => parseFloat(getComputedStyle(document.documentElement).fontSize);
  const isCards = () => innerWidth < CARD_WIDTH;
  /** @returns {Heights} */
  const rowHeights = () => ({ row: Math.round(rem() * (isCards() ? CARD : ROW)), heading: Math.round(rem() * ROW) });

  function visibleItems() {
    const heights = rowHeights();
    const top = element.scrollTop;
    const first = Math.max(0, layout.positionAt(top, heights) - OVERSCAN);
    const last = Math.min(layout.length - 1, layout.positionAt(top + element.clientHeight, heights) + OVERSCAN);
    return { first, last, heights };
  }

  /** The indices of the runs that are visible. @returns {[number, number]} */
  function visibleRuns() {
    const { first, last } = visibleItems();
    let [from, to] = [Infinity, 0];
    for (let at = first; at <= last; at++) {
      const item = layout.itemAt(at);
      if ("index" in item) [from, to] = [Math.min(from, item.index), Math.max(to, item.index)];
    }
    return from === Infinity ? [0, 0] : [from, to];
  }

  function render() {
    frame = 0;
    const { first, last, heights } = visibleItems();
    body.style.height = `${layout.offsetOf(layout.length, heights)}px`;
    for (const [at, { element: row }] of rows) {
      if (at >= first && at <= last) continue;
      row.remove();
      pictures.delete(row);
      rows.delete(at);
    }
    for (let at = first; at <= last; at++) showItem(at, heights);
    const [from, to] = visibleRuns();
    if (layout.length > 0) need(from, to);
    if (isFocused) focusActive();
    drawPictures();
  }

  /** @param {number} at @param {Heights} heights */
  function showItem(at, heights) {
    const item = layout.itemAt(at);
    const run = "index" in item ? rowAt(item.index) : undefined;
    const height = "index" in item ? heights.row : heights.heading;
    const top = layout.offsetOf(at, heights);
    const key = "index" in item ? `${item.index} ${run?.id ?? ""} ${height} ${top}` : `${item.heading} ${item.count} ${top}`;
    const old = rows.get(at);
    if (old && old.key === key && old.run === run) return;
    const row = "index" in item ? runRow(item.index, run, at) : headingRow(item, at);
    row.style.transform = `translateY(${top}px)`;
    row.style.height = `${height}px`;
    if (old) {
      old.element.replaceWith(row);
      pictures.delete(old.element);
    } else body.append(row);
    rows.set(at, { key, run, element: row });
  }

  /** @param {{ heading: string, count: number }} item @param {number} at */
  const headingRow = ({ heading, count }, at) =>
    h(
      "div",
      { class: "table-row table-section", role: "row", "aria-rowindex": at + 2 },
      h("div", { role: "gridcell" }, h("h2", {}, heading, h("span", { class: "quiet number" }, ` ${count.toLocaleString("en-US")}`))),
    );

  /** @param {number} index @param {RunInfo | undefined} run @param {number} at */
  function runRow(index, run, at) {
    if (!run)
      return h(
        "div",
        { class: "table-row table-pending", role: "row", "aria-rowindex": at + 2, "aria-busy": "true" },
        h("div", { role: "gridcell" }),
      );
    const selected = isSelected(run.id);
    const box = /** @type {HTMLInputElement} */ (
      h("input", { type: "checkbox", "aria-label": `Select ${run.name}`, checked: selected, tabindex: -1 })
    );
    box.checked = selected;
    box.addEventListener("click", (event) => onSelect(index, { shift: event.shiftKey }));
    const row = h(
      "div",
      {
        class: `table-row run-row health-${run.health} run-${run.state} section-${run.section}${index === active ? " row-active" : ""}`,
        role: "row",
        "aria-rowindex": at + 2,
        "aria-selected": String(selected),
        data: { run: run.id, index: String(index) },
      },
      h("div", { class: "cell cell-select", role: "gridcell" }, h("label", { class: "select-box" }, box)),
    );
    for (const key of keys) {
      const column = columnOf(key);
      const cell = h("div", {
        class: `cell cell-${column.key.replace(/\W+/g, "-")}${column.isNumber ? " number" : ""}`,
        role: "gridcell",
        data: { name: column.title },
      });
      if (column.isPicture) pictures.set(row, chain(pictures.get(row), () => fill(cell, column.cell(run))));
      else fill(cell, column.cell(run));
      row.append(cell);
    }
    return row;
  }

  /** Pictures cost most: a few per frame, so that scrolling does not wait for them. */
  function drawPictures() {
    let left = PICTURES_PER_FRAME;
    for (const [row, draw] of pictures) {
      if (left-- === 0) break;
      pictures.delete(row);
      draw();
    }
    if (pictures.size > 0) requestAnimationFrame(drawPictures);
  }

  function renderHead() {
    const known = keys.map(columnOf);
    element.style.setProperty("--columns", ["2rem", ...known.map(({ width }) => width)].join(" "));
    element.setAttribute("aria-colcount", String(known.length + 1));
    refill(
      head,
      h("div", { role: "columnheader", class: "cell cell-select" }, h("span", { class: "visually-hidden" }, "Selected")),
      known.map((column) => {
        const descending = sort === `-${column.sort}`;
        const isSorted = column.sort !== undefined && (descending || sort === column.sort);
        return h(
          "div",
          {
            role: "columnheader",
            class: `cell${column.isNumber ? " number" : ""}`,
            title: column.title,
            "aria-sort": isSorted ? (descending ? "descending" : "ascending") : column.sort ? "none" : null,
          },
          column.sort
            ? h(
                "button",
                { type: "button", class: "sort-button", on: { click: () => onSort(nextSort(column, sort)) } },
                column.title,
                isSorted && h("span", { "aria-hidden": "true" }, descending ? " ↓" : " ↑"),
              )
            : column.title,
        );
      }),
    );
  }

  function focusActive() {
    const row = /** @type {HTMLElement | null} */ (body.querySelector(`[data-index="${active}"]`));
    const target = row?.querySelector("a");
    if (target && document.activeElement !== target) target.focus({ preventScroll: true });
  }

  function schedule() {
    if (!frame) frame = requestAnimationFrame(render);
  }

  element.addEventListener("scroll", schedule, { passive: true });
  element.addEventListener("focusin", () => (isFocused = true));
  element.addEventListener("focusout", (event) => {
    // a row that is drawn again loses the focus, too: then nothing else gets it
    if (event.relatedTarget && !element.contains(/** @type {Node} */ (event.relatedTarget))) isFocused = false;
  });
  new ResizeObserver(schedule).observe(element);

  return {
    element,
    visibleRuns,
    /** @param {{ found: number, sections: Record<string, number> | null, columns: string[], sort: string }} options */
    show({ found, sections, columns, sort: order }) {
      layout = tableLayout(found, sections);
      element.setAttribute("aria-rowcount", String(layout.length + 1));
      const wanted = isCards() ? [...cardColumns(), ...columns.filter((key) => !cardColumns().includes(key))] : columns;
      if (wanted.join("\n") !== keys.join("\n") || order !== sort) {
        keys = wanted;
        sort = order;
        renderHead();
        this.redraw();
      } else render();
    },
    /** Draw all rows again, since the selection has changed. */
    redraw() {
      for (const { element: row } of rows.values()) row.remove();
      rows.clear();
      pictures.clear();
      render();
    },
    get active() {
      return active;
    },
    /** Make a run the active one, and show it. @param {number} index @param {{ focus?: boolean }} [options] */
    activate(index, { focus = true } = {}) {
      const before = body.querySelector(".row-active");
      before?.classList.remove("row-active");
      active = index;
      if (index < 0) return;
      const heights = rowHeights();
      const height = heights.row;
      const top = layout.offsetOf(layout.positionOf(index), heights);
      const headHeight = headGroup.offsetHeight;
      if (top < element.scrollTop) element.scrollTop = top - height;
      else if (top + height > element.scrollTop + element.clientHeight - headHeight)
        element.scrollTop = top + 2 * height + headHeight - element.clientHeight;
      isFocused ||= focus;
      render();
      body.querySelector(`[data-index="${index}"]`)?.classList.add("row-active");
      if (focus) focusActive();
    },
  };
}

/** @param {(() => void) | undefined} first @param {() => void} second */
const chain = (first, second) => () => {
  first?.();
  second();
};

/** @param {HTMLElement} cell @param {import("../lib/dom.js").Child | import("../lib/dom.js").Child[]} content */
const fill = (cell, content) => refill(cell, ...[content].flat());

/** The order after a click on a heading: its first direction, the other one, the default. Pure. @param {{ sort?: string, descends?: boolean }} column @param {string} sort */
export function nextSort({ sort: key, descends }, sort) {
  const [first, second] = descends ? [`-${key}`, `${key}`] : [`${key}`, `-${key}`];
  if (sort === first) return second;
  return sort === second ? "" : first;
}
