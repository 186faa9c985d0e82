// @ts-check
/** The menu of columns: those of runs themselves, settings, and statistics of metrics. */

import { h, refill } from "../lib/dom.js";
import { icon } from "../lib/icons.js";
import { popover } from "../lib/popover.js";
import { availableColumns } from "../lib/runs_api.js";
import { builtInColumns, columnOf } from "./columns.js";

const SHOWN = 30;
const STATISTICS = ["last", "best", "mean"];

/** @param {AbortSignal} signal @param {{ columns: () => string[], onChange: (columns: string[] | null) => void }} options null: the default */
export function columnsMenu(signal, { columns, onChange }) {
  return popover({ label: "Columns", image: icon("settings"), className: "columns-menu" }, () => {
    const chosen = h("ul", { class: "menu-list", "aria-label": "Shown columns" });
    const offered = h("ul", { class: "menu-list", "aria-label": "More columns" });
    const field = /** @type {HTMLInputElement} */ (
      h("input", { type: "search", class: "field", "aria-label": "Find a setting or metric", placeholder: "Setting or metric, such as lr or loss" })
    );
    let timer = 0;

    function draw() {
      refill(
        chosen,
        columns().map((key) =>
          entry(columnOf(key).title, "close", `Remove the column ${columnOf(key).title}`, key === "name" ? null : () => change(columns().filter((each) => each !== key))),
        ),
      );
    }

    /** @param {string[]} next */
    function change(next) {
      onChange(next);
      draw();
      void offer();
    }

    async function offer() {
      const part = field.value.trim();
      const shown = new Set(columns());
      const own = builtInColumns().filter(({ key, title }) => !shown.has(key) && title.toLowerCase().includes(part.toLowerCase()));
      const found = part ? await availableColumns(part, signal).catch(() => null) : null;
      const values = [
        ...(found?.settings ?? []).map((name) => ({ key: `config.${name}`, title: name })),
        ...(found?.metrics ?? []).flatMap((name) => STATISTICS.map((each) => ({ key: `${each}(${name})`, title: `${each}(${name})` }))),
      ].filter(({ key }) => !shown.has(key));
      refill(
        offered,
        [...own, ...values].slice(0, SHOWN).map(({ key, title }) => entry(title, "plus", `Add the column ${title}`, () => change([...columns(), key]))),
      );
    }

    field.addEventListener("input", () => {
      clearTimeout(timer);
      timer = window.setTimeout(offer, 100);
    });
    draw();
    void offer();
    const reset = h(
      "button",
      { type: "button", class: "text-button", on: { click: () => (onChange(null), draw(), void offer()) } },
      "Default columns",
    );
    return h("div", { class: "menu-body" }, field, h("h3", {}, "Shown"), chosen, h("h3", {}, "More"), offered, reset);
  });
}

/** @param {string} title @param {string} image @param {string} label @param {(() => void) | null} run */
const entry = (title, image, label, run) =>
  h(
    "li",
    {},
    h("span", { class: "cell-text", title }, title),
    run && h("button", { type: "button", class: "icon-button", "aria-label": label, on: { click: run } }, icon(image)),
  );
