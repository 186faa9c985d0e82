// @ts-check
/** The compared runs: their colours, the baseline, and a field to add more. */

import * as api from "../lib/api.js";
import { h, link, refill } from "../lib/dom.js";
import { count } from "../lib/format.js";
import { icon } from "../lib/icons.js";

/** @typedef {{ id: string, name: string, project: string, colour: string, note: string }} ListedRun */

const DELAY = 200; // ms after the last letter
const MAX_FOUND = 12;
const MAX_PARTS = 12;

/** @typedef {{ id: string, name: string, project: string }} FoundRun */

/**
 * What can be added for a text: runs that have all its words, else one choice with a run for each part between commas
 * (names of runs may have commas themselves).
 * @param {string} text @param {ReadonlySet<string>} present @param {AbortSignal} signal @returns {Promise<FoundRun[][]>}
 */
async function findChoices(text, present, signal) {
  /** @param {string} part @returns {Promise<FoundRun[]>} */
  const find = async (part) => (await api.findRuns(part, signal)).filter(({ id }) => !present.has(id));
  const runs = await find(text);
  if (runs.length > 0 || !text.includes(",")) return runs.slice(0, MAX_FOUND).map((run) => [run]);
  const parts = text.split(",").map((part) => part.trim());
  const found = await Promise.all(parts.filter(Boolean).slice(0, MAX_PARTS).map(async (part) => bestOf(await find(part), part)));
  const several = [...new Map(found.flat().map((run) => [run.id, run])).values()];
  return several.length > 0 ? [several] : [];
}

/** The run with a part in its name, rather than in its id or notes. @param {FoundRun[]} runs @param {string} part */
const bestOf = (runs, part) => [runs.find(({ name }) => name.toLowerCase().includes(part.toLowerCase())) ?? runs[0]].filter(Boolean);

/**
 * @param {{ signal: AbortSignal, onAdd: (ids: string[]) => void, onRemove: (id: string) => void,
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
      title: "Several: parts of their names with commas between",
      autocomplete: "off",
      spellcheck: "false",
    })
  );
  const found = h("div", { class: "found-runs", id: "found-runs", role: "listbox", "aria-label": "Runs", hidden: true });
  const element = h("div", { class: "run-list" }, list, h("div", { class: "add-run" }, field, found));
  /** @type {Set<string>} */
  let present = new Set();
  /** @type {FoundRun[][]} */
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
    const choices = await findChoices(field.value, present, signal).catch(() => []);
    if (number !== searches) return;
    options = choices;
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
      options.map((choice, i) =>
        h(
          "div",
          {
            role: "option",
            id: `found-run-${i}`,
            class: "picker-option",
            "aria-selected": String(i === selected),
            on: { pointerdown: (/** @type {Event} */ event) => (event.preventDefault(), pick(choice)) },
          },
          h("span", {}, choice.map(({ name }) => name).join(", ")),
          h("span", { class: "quiet" }, choice.length > 1 ? count(choice.length, "run") : choice[0].project),
        ),
      ),
    );
    if (options.length) field.setAttribute("aria-activedescendant", `found-run-${selected}`);
    else field.removeAttribute("aria-activedescendant");
  }

  /** @param {FoundRun[]} choice */
  function pick(choice) {
    const ids = choice.map(({ id }) => id);
    field.value = "";
    present = new Set([...present, ...ids]);
    onAdd(ids);
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
    } else if (event.key === "Enter" && options[selected]) pick(options[selected]);
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
