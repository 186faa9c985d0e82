// @ts-check
/** A button that opens a small panel below it; Escape, a click elsewhere, or the button itself close it. */

import { h, refill } from "./dom.js";

let panels = 0;

/**
 * @param {{ label: string, image?: Node, className?: string }} options
 * @param {(close: () => void) => Node} content called whenever the panel opens
 */
export function popover({ label, image, className = "" }, content) {
  const id = `popover-${++panels}`;
  const panel = h("div", { class: "popover-panel", id, role: "dialog", "aria-label": label, hidden: true });
  const button = h(
    "button",
    { type: "button", class: "button", "aria-expanded": "false", "aria-controls": id, "aria-haspopup": "dialog" },
    image ?? null,
    label,
  );
  const element = h("div", { class: `popover ${className}` }, button, panel);

  function close() {
    if (panel.hidden) return;
    const focused = document.activeElement;
    // a button of the panel that was redrawn has left the focus to the page
    const hadFocus = panel.contains(focused) || focused === document.body;
    panel.hidden = true;
    button.setAttribute("aria-expanded", "false");
    document.removeEventListener("pointerdown", outside, true);
    document.removeEventListener("keydown", escapeOutside, true);
    if (hadFocus) button.focus();
  }

  function open() {
    refill(panel, content(close));
    panel.hidden = false;
    button.setAttribute("aria-expanded", "true");
    document.addEventListener("pointerdown", outside, true);
    document.addEventListener("keydown", escapeOutside, true);
    const first = /** @type {HTMLElement | null} */ (panel.querySelector("input, button, select, textarea"));
    first?.focus();
    panel.classList.toggle("popover-left", panel.getBoundingClientRect().right > innerWidth);
  }

  /** @param {PointerEvent} event */
  function outside(event) {
    if (!element.contains(/** @type {Node} */ (event.target))) close();
  }

  /** @param {KeyboardEvent} event */
  function escape(event) {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    close();
  }

  /** The page has the focus once a button of the panel was redrawn. @param {KeyboardEvent} event */
  function escapeOutside(event) {
    if (!element.contains(/** @type {Node} */ (event.target))) escape(event);
  }

  button.addEventListener("click", () => (panel.hidden ? open() : close()));
  element.addEventListener("keydown", escape);
  return element;
}
