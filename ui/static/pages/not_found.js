// @ts-check
/** The page of an unknown address. */

import { h, link, refill } from "../lib/dom.js";

/** @type {import("../lib/router.js").Page} */
export async function show(root, { params, title }) {
  title("Not found");
  refill(
    root,
    h(
      "section",
      { class: "empty" },
      h("h1", {}, "Page not found"),
      h("p", { class: "quiet" }, h("code", {}, params[0])),
      h(
        "p",
        { class: "row" },
        link("/", { class: "button button-strong" }, "All runs"),
        link("/incidents", { class: "button" }, "Incidents"),
      ),
    ),
  );
}
