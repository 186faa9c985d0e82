// @ts-check
/** Short messages at the bottom of the page, with an optional action such as Undo. */

import { announce, byId, h } from "./dom.js";

const DURATION = 7000; // ms: enough to read a line and reach the button

/**
 * @param {string} text
 * @param {{ action?: string, run?: () => void, tone?: "critical" | "warning" | "info" }} [options]
 */
export function toast(text, { action, run, tone } = {}) {
  const note = h("div", { class: `toast${tone ? ` toast-${tone}` : ""}` }, h("span", {}, text));
  const dismiss = () => note.remove();
  if (action && run) {
    note.append(
      h("button", { type: "button", class: "text-button", on: { click: () => (dismiss(), run()) } }, action),
    );
  }
  byId("toasts").append(note);
  announce(text);
  let timer = setTimeout(dismiss, DURATION);
  note.addEventListener("pointerenter", () => clearTimeout(timer));
  note.addEventListener("pointerleave", () => (timer = setTimeout(dismiss, DURATION)));
}
