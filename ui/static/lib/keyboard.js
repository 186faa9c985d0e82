// @ts-check
/** Keyboard shortcuts: single keys and two-key sequences such as "g r", and the help that lists them. */

import { h, refill } from "./dom.js";
import { icon } from "./icons.js";

/** @typedef {{ keys: string, label: string, run: (event: KeyboardEvent) => void }} Binding */

const KEY_NAMES = /** @type {Record<string, string>} */ ({
  ArrowUp: "↑",
  ArrowDown: "↓",
  ArrowLeft: "←",
  ArrowRight: "→",
});

/** @type {Binding[][]} */
const groups = [];
let first = "";
let timer = 0;

/** Bind keys until the signal is aborted. @param {AbortSignal | null} signal @param {Binding[]} bindings */
export function bind(signal, bindings) {
  groups.push(bindings);
  signal?.addEventListener("abort", () => groups.splice(groups.indexOf(bindings), 1), { once: true });
}

/** @param {KeyboardEvent} event */
function typing(event) {
  const target = /** @type {HTMLElement} */ (event.target);
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}

/** @param {KeyboardEvent} event */
function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || typing(event)) return;
  if (document.querySelector("dialog[open]") && event.key !== "?") return;
  const sequence = first ? `${first} ${event.key}` : event.key;
  const all = groups.flat().reverse();
  const match = all.find((binding) => binding.keys.split(", ").includes(sequence));
  clearTimeout(timer);
  first = !match && all.some((binding) => binding.keys.startsWith(`${sequence} `)) ? sequence : "";
  if (first) timer = window.setTimeout(() => (first = ""), 900);
  if (!match) return;
  // Enter and Space activate a focused link or button
  if (
    (event.key === "Enter" || event.key === " ") &&
    /** @type {HTMLElement} */ (event.target).closest("a, button, summary")
  )
    return;
  event.preventDefault();
  match.run(event);
}

/** All bindings that are in force, those of the page last. */
export const bindings = () => groups.flat();

export function start() {
  document.addEventListener("keydown", pressed);
}

/** Open the list of the shortcuts on this page, or close it. @param {import("./dom.js").Child[]} more what else there is to know, below */
export function showHelp(...more) {
  const open = document.querySelector("dialog.help[open]"); // one just closed is removed a moment later
  if (open) return /** @type {HTMLDialogElement} */ (open).close();
  const dialog = /** @type {HTMLDialogElement} */ (
    h("dialog", { class: "help", "aria-label": "Keyboard shortcuts" })
  );
  const rows = groups.flat().map(({ keys, label }) =>
    h(
      "div",
      {},
      h(
        "dt",
        {},
        keys.split(", ").map((key) => h("kbd", {}, ...key.split(" ").map((part) => KEY_NAMES[part] ?? part))),
      ),
      h("dd", {}, label),
    ),
  );
  const shut = h(
    "button",
    { type: "button", class: "icon-button", "aria-label": "Close", on: { click: () => dialog.close() } },
    icon("close"),
  );
  refill(dialog, h("header", {}, h("h2", {}, "Keyboard shortcuts"), shut), h("dl", {}, rows), ...more);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
