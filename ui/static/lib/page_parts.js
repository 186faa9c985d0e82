// @ts-check
/** Parts that several pages are made of: headings with a note, tables with a caption. */

import { h } from "./dom.js";

/** The head of a page. @param {string} title @param {string} note @param {...import("./dom.js").Child} more */
export const pageHead = (title, note, ...more) =>
  h(
    "header",
    { class: "page-head" },
    h("div", {}, h("h1", {}, title), note && h("p", { class: "quiet" }, note)),
    ...more,
  );

/**
 * A table that can be scrolled with the keyboard where it is wider than the page.
 * @param {string} label @param {string[]} columns @param {import("./dom.js").Child[][]} rows cells; the first is the row's heading
 */
export function dataTable(label, columns, rows) {
  return h(
    "div",
    { class: "table-frame", tabindex: 0, role: "region", "aria-label": label },
    h(
      "table",
      { class: "data-table" },
      h("thead", {}, h("tr", {}, columns.map((text) => h("th", { scope: "col" }, text)))),
      h(
        "tbody",
        {},
        rows.map(([first, ...cells]) =>
          h("tr", {}, h("th", { scope: "row" }, first), cells.map((cell, i) => h("td", { "data-column": columns[i + 1] }, cell))),
        ),
      ),
    ),
  );
}

/** A section with a heading. @param {string} heading @param {...import("./dom.js").Child} children */
export const section = (heading, ...children) =>
  h("section", { class: "page-section", "aria-label": heading }, h("h2", {}, heading), ...children);
