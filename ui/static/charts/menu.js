// @ts-check
/** A menu behind a button: opened and closed by mouse and keyboard. */

import { h, refill } from "../lib/dom.js";
import { icon } from "../lib/icons.js";

/** @typedef {{ text: string, run: () => void }} MenuItem */

let openMenu = () => {};

/**
 * @param {string} label the name of the button @param {() => (MenuItem | null | undefined | false)[]} items evaluated when it opens
 * @param {Record<string, any>} [properties] of the button
 */
export function createMenu(label, items, properties = {}) {
  const list = h("div", { class: "menu", role: "menu", "aria-label": label, hidden: true });
  const button = h(
    "button",
    {
      type: "button",
      class: "tool",
      "aria-label": label,
      "aria-haspopup": "menu",
      "aria-expanded": "false",
      title: label,
      on: { click: () => (list.hidden ? show() : hide()) },
      ...properties,
    },
    icon("more"),
  );

  function show() {
    openMenu();
    openMenu = hide;
    const entries = items().flatMap((item) => (item ? [item] : []));
    refill(
      list,
      entries.map(({ text, run }) =>
        h(
          "button",
          { type: "button", role: "menuitem", tabindex: -1, on: { click: () => (hide(), button.focus(), run()) } },
          text,
        ),
      ),
    );
    list.hidden = false;
    button.setAttribute("aria-expanded", "true");
    /** @type {HTMLElement} */ (list.firstElementChild)?.focus();
    document.addEventListener("pointerdown", outside, true);
  }

  function hide() {
    list.hidden = true;
    button.setAttribute("aria-expanded", "false");
    document.removeEventListener("pointerdown", outside, true);
    openMenu = () => {};
  }

  const element = h("div", { class: "menu-frame" }, button, list);
  const outside = (/** @type {Event} */ event) =>
    element.contains(/** @type {Node} */ (event.target)) || hide();
  list.addEventListener("keydown", (event) => {
    const all = /** @type {HTMLElement[]} */ ([...list.children]);
    const i = all.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    const target = /** @type {Record<string, number>} */ ({
      ArrowDown: (i + 1) % all.length,
      ArrowUp: (i - 1 + all.length) % all.length,
      Home: 0,
      End: all.length - 1,
    })[event.key];
    if (event.key === "Escape" || event.key === "Tab") {
      hide();
      button.focus();
    }
    if (target !== undefined) all[target].focus();
    if (target !== undefined || event.key === "Escape") event.preventDefault();
    if (event.key === "Escape") event.stopPropagation();
  });
  return { element, hide };
}
