// @ts-check
/** What a page shows when it has nothing to show: still loading, nothing there yet, something went wrong. */

import { copyLine, h, link } from "./dom.js";
import { icon } from "./icons.js";

/** Grey lines where text will be. */
export function skeleton() {
  const line = (/** @type {number} */ width) =>
    h("div", { class: "skeleton-line", style: { "--width": `${width}%` } });
  return h(
    "div",
    { class: "skeleton", "aria-busy": "true", "aria-label": "Loading" },
    [38, 96, 91, 94, 88, 93].map(line),
  );
}

/**
 * Nothing here, and what to do about it.
 * @param {string} title @param {string} text @param {string | null} [command] a line to copy @param {...import("./dom.js").Child} more
 */
export function empty(title, text, command = null, ...more) {
  return h(
    "section",
    { class: "empty" },
    icon("pulse"),
    h("h2", {}, title),
    h("p", { class: "quiet" }, text),
    command && copyLine(command),
    ...more,
  );
}

/** What happened, and the way on. @param {Error & { status?: number }} error @param {() => void} again */
export function problem(error, again) {
  const title =
    error.status === 404
      ? "Not here"
      : error.status === 0
        ? "No connection to the server"
        : "This page could not be shown";
  const retry = h(
    "button",
    { type: "button", class: "button button-strong", on: { click: again } },
    "Try again",
  );
  return h(
    "section",
    { class: "empty", role: "alert" },
    icon("warning"),
    h("h1", {}, title),
    h("p", { class: "quiet" }, error.message),
    h("p", { class: "row" }, error.status === 404 ? null : retry, link("/", { class: "button" }, "All runs")),
  );
}
