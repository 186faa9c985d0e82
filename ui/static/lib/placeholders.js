// @ts-check
/** What a page shows without content: loading, empty, error. */

import { copyBlock, copyLine, h, link } from "./dom.js";
import { icon } from "./icons.js";

/** Grey lines in place of text that is loading. */
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
 * An empty state with the next step.
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

/** How points are sent to a run, as examples to copy. @param {string} project @param {string} run */
export function sendingExamples(project, run) {
  const [projectText, runText] = [project, run].map((name) => JSON.stringify(name));
  const body = JSON.stringify({ project, run }).slice(0, -1).replaceAll("'", "'\\''");
  return [
    h("p", { class: "quiet" }, "Log from Python:"),
    copyBlock(
      `import holter\n\nrun = holter.init(project=${projectText}, run=${runText})\nfor step in range(100):\n    run.log({"loss": 2.0 / (1 + step)}, step=step)\nrun.finish()`,
    ),
    h("p", { class: "quiet" }, "Or send points over HTTP:"),
    copyBlock(
      `curl ${location.origin}/api/v1/ingest \\\n  -H 'content-type: application/json' \\\n  -d '${body},\n       "columns": {"step": [1, 2, 3], "loss": [2.3, 2.2, 2.1]}}'`,
    ),
  ];
}

/** An error with a way to continue. @param {Error & { status?: number }} error @param {() => void} retry */
export function errorMessage(error, retry) {
  const title =
    error.status === 404
      ? "Not found"
      : error.status === 0
        ? "Server unreachable"
        : "This page could not be loaded";
  const retryButton = h(
    "button",
    { type: "button", class: "button button-strong", on: { click: retry } },
    "Try again",
  );
  return h(
    "section",
    { class: "empty", role: "alert" },
    icon("warning"),
    h("h1", {}, title),
    h("p", { class: "quiet" }, error.message),
    h(
      "p",
      { class: "row" },
      error.status === 404 ? null : retryButton,
      link("/", { class: "button" }, "All runs"),
    ),
  );
}
