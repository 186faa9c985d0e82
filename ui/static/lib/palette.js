// @ts-check
/** The command palette (Ctrl-K): runs, pages, metrics, settings and actions of the present page in one search. */

import { h, refill } from "./dom.js";
import { fuzzyFind } from "./fuzzy.js";

/**
 * One entry: `group` is its heading, `detail` a quiet text after the title, `run` what it does.
 * @typedef {{ group: string, title: string, detail?: string, keys?: string, run: () => void }} PaletteItem
 * @typedef {(query: string) => Promise<PaletteItem[]> | PaletteItem[]} PaletteSource
 */

const SHOWN = 40;
const SHOWN_OF_GROUP = 8;
const DELAY = 120; // ms after a keystroke until sources are asked

/** @type {Set<PaletteSource>} */
const sources = new Set();

/** Add a source of entries until the signal is aborted. @param {AbortSignal | null} signal @param {PaletteSource} source */
export function addSource(signal, source) {
  sources.add(source);
  signal?.addEventListener("abort", () => sources.delete(source), { once: true });
}

/**
 * The entries for a query by group: groups in the order of their best match, at most a few of each. Pure.
 * @param {string} query @param {PaletteItem[]} items @returns {PaletteItem[]}
 */
export function rankItems(query, items) {
  const found = fuzzyFind(query, items, ({ title, detail }) => `${title} ${detail ?? ""}`, items.length);
  const groups = [...new Set(found.map(({ group }) => group))];
  return groups
    .flatMap((group) => found.filter((item) => item.group === group).slice(0, SHOWN_OF_GROUP))
    .slice(0, SHOWN);
}

/** Open the palette, or close it. */
export function togglePalette() {
  const open = document.querySelector("dialog.palette[open]"); // one just closed is removed a moment later
  if (open) return /** @type {HTMLDialogElement} */ (open).close();
  openPalette();
}

function openPalette() {
  const input = /** @type {HTMLInputElement} */ (
    h("input", {
      type: "text",
      class: "palette-input",
      role: "combobox",
      "aria-expanded": "true",
      "aria-controls": "palette-list",
      "aria-autocomplete": "list",
      "aria-label": "Runs, metrics, settings, actions",
      placeholder: "Runs, metrics, settings, actions",
      autocomplete: "off",
      spellcheck: "false",
    })
  );
  const list = h("ul", { class: "palette-list", id: "palette-list", role: "listbox", "aria-label": "Results" });
  const dialog = /** @type {HTMLDialogElement} */ (
    h("dialog", { class: "palette", "aria-label": "Command palette" }, input, list)
  );
  /** @type {PaletteItem[]} */
  let shown = [];
  let selected = 0;
  let timer = 0;
  let latest = 0;

  async function search() {
    const query = input.value;
    const number = ++latest;
    const answers = await Promise.allSettled([...sources].map(async (source) => source(query)));
    if (number !== latest) return; // a later keystroke has asked again
    const items = answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
    shown = rankItems(query, items);
    selected = 0;
    draw();
  }

  function draw() {
    let group = "";
    refill(
      list,
      shown.length === 0 ? h("li", { class: "palette-none quiet", role: "presentation" }, "No matches") : null,
      ...shown.flatMap((item, index) => {
        const heading =
          item.group === group
            ? []
            : [h("li", { class: "palette-group quiet", role: "presentation" }, item.group)];
        group = item.group;
        return [...heading, option(item, index)];
      }),
    );
    input.setAttribute("aria-activedescendant", shown.length ? `palette-${selected}` : "");
    list.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }

  /** @param {PaletteItem} item @param {number} index */
  function option(item, index) {
    return h(
      "li",
      {
        class: "palette-option",
        role: "option",
        id: `palette-${index}`,
        "aria-selected": String(index === selected),
        on: { click: () => choose(index), pointermove: () => index !== selected && select(index) },
      },
      h("span", { class: "palette-title" }, item.title),
      item.detail && h("span", { class: "quiet palette-detail" }, item.detail),
      item.keys && h("kbd", {}, item.keys),
    );
  }

  /** @param {number} index */
  function select(index) {
    selected = (index + shown.length) % Math.max(1, shown.length);
    draw();
  }

  /** @param {number} index */
  function choose(index) {
    const item = shown[index];
    dialog.close();
    item?.run();
  }

  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = window.setTimeout(() => void search(), DELAY);
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") select(selected + 1);
    else if (event.key === "ArrowUp") select(selected - 1);
    else if (event.key === "Enter") {
      clearTimeout(timer);
      const ready = latest > 0 ? search() : Promise.resolve();
      const index = selected;
      void ready.then(() => choose(index));
    } else return;
    event.preventDefault();
  });
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  input.focus();
  void search();
}
