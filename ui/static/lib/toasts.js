// @ts-check
/** Short notes at the foot of the page, with a way to take back what was just done. */

import { announce, byId, h } from "./dom.js";

const STAYS = 7000; // ms: long enough to read a line and reach the button

/**
 * @param {string} text
 * @param {{ action?: string, run?: () => void, tone?: "critical" | "warning" | "info" }} [options]
 */
export function toast(text, { action, run, tone } = {}) {
  const note = h("div", { class: `toast${tone ? ` toast-${tone}` : ""}` }, h("span", {}, text));
  const leave = () => note.remove();
  if (action && run) {
    note.append(
      h("button", { type: "button", class: "text-button", on: { click: () => (leave(), run()) } }, action),
    );
  }
  byId("toasts").append(note);
  announce(text);
  let timer = setTimeout(leave, STAYS);
  note.addEventListener("pointerenter", () => clearTimeout(timer));
  note.addEventListener("pointerleave", () => (timer = setTimeout(leave, STAYS)));
}
