// @ts-check
/** The compared runs: their colours, the baseline, and a field to add more. */

import * as api from "../lib/api.js";
import { h, link, refill } from "../lib/dom.js";
import { icon } from "../lib/icons.js";

/** @typedef {{ id: string, name: string, project: string, colour: string, note: string }} ListedRun */

const DELAY = 200; // ms after the last letter
const MAX_FOUND = 12;

/**
 * @param {{ signal: AbortSignal, onAdd: (id: string) => void, onRemove: (id: string) => void,
 *   onBaseline: (id: string) => void }} options
 */
export function createRunList({ signal, onAdd, onRemove, onBaseline }) {
  const list = h("ul", { class: "compared-runs", "aria-label": "Compared runs" });
  const field = /** @type {HTMLInputElement} */ (
    h("input", {
      type: "search",
      class: "field",
      role: "combobox",
      "aria-label": "Add a run",
      "aria-expanded": "false",
      "aria-controls": "found-runs",
      placeholder: "Add a run: part of its name",
      autocomplete: "off",
      spellcheck: "false",
    })
  );
  const found = h("div", { class: "found-runs", id: "found-runs", role: "listbox", "aria-label": "Runs", hidden: true });
  const element = h("div", { class: "run-list" }, list, h("div", { class: "add-run" }, field, found));
  /** @type {Set<string>} */
  let present = new Set();
  /** @type {{ id: string, name: string, project: string }[]} */
  let options = [];
  let selected = 0;
  let timer = 0;
  let searches = 0; // the answer to an older one is ignored

  /** Close the list: it covers the comparison. Typing, a click and arrows open it again. */
  function close() {
    clearTimeout(timer);
    searches += 1;
    options = [];
    found.hidden = true;
    field.setAttribute("aria-expanded", "false");
    field.removeAttribute("aria-activedescendant");
  }

  async function search() {
    const number = (searches += 1);
    const runs = await api.findRuns(field.value, signal).catch(() => []);
    if (number !== searches) return;
    options = runs.filter(({ id }) => !present.has(id)).slice(0, MAX_FOUND);
    selected = 0;
    draw();
  }

  function draw() {
    const open = document.activeElement === field && (options.length > 0 || field.value !== "");
    found.hidden = !open;
    field.setAttribute("aria-expanded", String(open));
    refill(
      found,
      options.length === 0 &&
        h("div", { role: "option", class: "picker-option quiet", "aria-disabled": "true", "aria-selected": "false" }, "No other runs"),
      options.map(({ id, name, project }, i) =>
        h(
          "div",
          {
            role: "option",
            id: `found-run-${i}`,
            class: "picker-option",
            "aria-selected": String(i === selected),
            on: { pointerdown: (/** @type {Event} */ event) => (event.preventDefault(), pick(id)) },
          },
          h("span", {}, name),
          h("span", { class: "quiet" }, project),
        ),
      ),
    );
    if (options.length) field.setAttribute("aria-activedescendant", `found-run-${selected}`);
    else field.removeAttribute("aria-activedescendant");
  }

  /** @param {string} id */
  function pick(id) {
    field.value = "";
    present.add(id);
    onAdd(id);
    close();
  }

  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = window.setTimeout(() => void search(), DELAY);
  });
  field.addEventListener("focus", () => void search());
  field.addEventListener("click", () => found.hidden && void search());
  field.addEventListener("blur", close);
  field.addEventListener("keydown", (event) => {
    const moves = /** @type {Record<string, number>} */ ({ ArrowDown: 1, ArrowUp: -1 });
    if (event.key in moves && found.hidden) void search();
    else if (event.key in moves && options.length) {
      selected = (selected + moves[event.key] + options.length) % options.length;
      draw();
    } else if (event.key === "Enter" && options[selected]) pick(options[selected].id);
    else if (event.key === "Escape") field.blur();
    else return;
    event.preventDefault();
  });

  return {
    element,
    focus: () => field.focus(),
    /** @param {ListedRun[]} runs @param {string | null} baseline */
    show(runs, baseline) {
      present = new Set(runs.map(({ id }) => id));
      refill(
        list,
        runs.map(({ id, name, project, colour, note }) => {
          const isBaseline = id === baseline;
          return h(
            "li",
            { class: `compared-run${isBaseline ? " compared-baseline" : ""}` },
            h("i", { class: "run-swatch", style: { background: colour } }),
            link(`/runs/${encodeURIComponent(id)}`, { title: `${project} / ${name}` }, name),
            note && h("span", { class: "quiet", title: note }, icon("warning", note)),
            h(
              "button",
              {
                type: "button",
                class: "text-button",
                "aria-pressed": String(isBaseline),
                "aria-label": `${isBaseline ? "baseline" : "set as baseline"}: ${name}`,
                on: { click: () => onBaseline(id) },
              },
              isBaseline ? "baseline" : "set as baseline",
            ),
            h(
              "button",
              { type: "button", class: "tool", "aria-label": `Remove ${name}`, on: { click: () => onRemove(id) } },
              icon("close"),
            ),
          );
        }),
      );
    },
  };
}
