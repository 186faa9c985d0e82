// @ts-check
/** The filter of the overview: one line with completion, for mouse and keyboard. */

import { h, refill } from "../lib/dom.js";
import { icon } from "../lib/icons.js";
import { completions } from "../lib/runs_api.js";

/** @typedef {import("../lib/api_types.js").CompletionList} CompletionList */

const APPLY_AFTER = 200; // ms without a key
const COMPLETE_AFTER = 60;

/**
 * The text and the position of the caret after a completion. Pure.
 * @param {string} text @param {CompletionList} answer @param {string} inserted @returns {{ text: string, caret: number }}
 */
export function complete(text, { start, end }, inserted) {
  const before = text.slice(0, start) + inserted;
  const behind = text.slice(end);
  return { text: before + (inserted.endsWith(" ") ? behind.trimStart() : behind), caret: before.length };
}

/** The message of an error of a filter, with its position. Pure. @param {string} message */
export function filterProblem(message) {
  const found = /^query\.filter\.(\d+): (.*)$/s.exec(message);
  return found ? { position: Number(found[1]), text: found[2] } : null;
}

/**
 * @param {AbortSignal} signal
 * @param {{ onFilter: (text: string) => void, onLeave: () => void }} options `onLeave`: the keyboard goes on to the list
 */
export function filterField(signal, { onFilter, onLeave }) {
  const input = /** @type {HTMLInputElement} */ (
    h("input", {
      type: "search",
      class: "filter-input",
      id: "run-filter",
      role: "combobox",
      "aria-label": "Filter runs",
      "aria-autocomplete": "list",
      "aria-expanded": "false",
      "aria-controls": "run-filter-list",
      "aria-describedby": "run-filter-message",
      autocomplete: "off",
      autocapitalize: "off",
      spellcheck: "false",
      enterkeyhint: "search",
      placeholder: "Filter: project:llm lr<3e-4 tag:baseline -state:finished",
    })
  );
  const list = h("ul", { class: "completions", id: "run-filter-list", role: "listbox", "aria-label": "Completions", hidden: true });
  const message = h("p", { class: "filter-message", id: "run-filter-message", role: "status" });
  const element = h(
    "div",
    { class: "filter" },
    h("div", { class: "filter-line" }, icon("search"), input, h("kbd", { "aria-hidden": "true" }, "/"), list),
    message,
  );
  /** @type {CompletionList | null} */
  let answer = null;
  let chosen = -1;
  let applied = "";
  let applyTimer = 0;
  let completeTimer = 0;
  let asked = 0;

  function apply() {
    clearTimeout(applyTimer);
    if (input.value === applied) return;
    applied = input.value;
    onFilter(applied.trim());
  }

  function close() {
    clearTimeout(completeTimer);
    asked++;
    answer = null;
    chosen = -1;
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  }

  async function ask() {
    const mine = ++asked;
    const found = await completions(input.value, input.selectionStart ?? 0, signal).catch(() => null);
    if (mine !== asked || document.activeElement !== input) return;
    answer = found && found.completions.length > 0 ? found : null;
    chosen = -1;
    show();
  }

  function show() {
    list.hidden = answer === null;
    input.setAttribute("aria-expanded", String(answer !== null));
    refill(
      list,
      (answer?.completions ?? []).map(({ text, detail }, i) =>
        h(
          "li",
          {
            id: `completion-${i}`,
            role: "option",
            "aria-selected": "false",
            on: { pointerdown: (/** @type {Event} */ event) => (event.preventDefault(), insert(i)) },
          },
          h("code", {}, text.trim()),
          h("span", { class: "quiet" }, detail),
        ),
      ),
    );
  }

  /** @param {number} index */
  function choose(index) {
    list.children[chosen]?.setAttribute("aria-selected", "false");
    chosen = index;
    const option = list.children[index];
    option?.setAttribute("aria-selected", "true");
    option?.scrollIntoView({ block: "nearest" });
    if (option) input.setAttribute("aria-activedescendant", option.id);
    else input.removeAttribute("aria-activedescendant");
  }

  /** @param {number} index */
  function insert(index) {
    if (!answer) return;
    const { text, caret } = complete(input.value, answer, answer.completions[index].text);
    input.value = text;
    input.setSelectionRange(caret, caret);
    close();
    changed();
  }

  function changed() {
    clearTimeout(applyTimer);
    clearTimeout(completeTimer);
    applyTimer = window.setTimeout(apply, APPLY_AFTER);
    completeTimer = window.setTimeout(ask, COMPLETE_AFTER);
  }

  input.addEventListener("input", changed);
  input.addEventListener("focus", () => {
    if (input.value === "") completeTimer = window.setTimeout(ask, COMPLETE_AFTER);
  });
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    const size = answer?.completions.length ?? 0;
    if (event.key === "ArrowDown" && size > 0) choose((chosen + 1) % size);
    else if (event.key === "ArrowUp" && size > 0) choose((chosen + size - (chosen < 0 ? 0 : 1)) % size);
    else if ((event.key === "Enter" || event.key === "Tab") && chosen >= 0) insert(chosen);
    else if (event.key === "Enter" || (event.key === "ArrowDown" && size === 0)) {
      apply();
      close();
      onLeave();
    } else if (event.key === "Escape" && size > 0) close();
    else if (event.key === "Escape") input.blur();
    else return;
    event.preventDefault();
  });

  return {
    element,
    input,
    /** @param {string} text */
    set(text) {
      applied = text;
      if (document.activeElement !== input || input.value.trim() !== text) input.value = text;
    },
    /** Say what is wrong with the filter, or what its author should know. @param {string} text @param {boolean} [isError] */
    say(text, isError = false) {
      if (message.textContent !== text) message.textContent = text;
      message.classList.toggle("filter-error", isError);
      input.setAttribute("aria-invalid", String(isError));
    },
  };
}
