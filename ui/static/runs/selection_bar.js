// @ts-check
/** What can be done with the selected runs: compare, tag, star, mark as finished. */

import { finishRun } from "../lib/api.js";
import { h, link, refill } from "../lib/dom.js";
import { count } from "../lib/format.js";
import { icon } from "../lib/icons.js";
import { popover } from "../lib/popover.js";
import { describeRun } from "../lib/runs_api.js";
import { toast } from "../lib/toasts.js";

/** @typedef {import("../lib/api_types.js").RunInfo} RunInfo */

/** The address that compares runs. Pure. @param {string[]} ids */
export const compareAddress = (ids) => `/compare?runs=${ids.map(encodeURIComponent).join(",")}`;

/**
 * @param {{ selected: () => string[], run: (id: string) => RunInfo | undefined, onDone: () => void, onClear: () => void }} options
 */
export function selectionBar({ selected, run, onDone, onClear }) {
  const label = h("span", { class: "number", role: "status" });
  const compare = link("/compare", { class: "button button-strong" }, icon("compare"), "Compare");
  const star = h("button", { type: "button", class: "button", on: { click: () => toggleStar() } }, "★ Star");
  const finish = h("button", { type: "button", class: "button", on: { click: () => markFinished() } }, icon("finished"), "Mark as finished");
  const clear = h("button", { type: "button", class: "button", on: { click: onClear } }, "Clear");
  const tags = popover({ label: "Tag", image: icon("plus"), className: "tags-menu" }, tagForm);
  const element = h(
    "div",
    { class: "selection-bar", role: "toolbar", "aria-label": "Selected runs", hidden: true },
    label,
    compare,
    tags,
    star,
    finish,
    clear,
  );

  /** @param {string[]} ids @param {(id: string) => Promise<unknown>} change @param {string} done */
  async function forEach(ids, change, done) {
    try {
      for (const id of ids) await change(id);
      toast(`${count(ids.length, "run")} ${done}`);
    } catch (error) {
      toast(/** @type {Error} */ (error).message, { tone: "critical" });
    }
    onDone();
  }

  const allStarred = () => selected().every((id) => run(id)?.starred);
  function toggleStar() {
    const starred = !allStarred();
    return forEach(selected(), (id) => describeRun(id, { starred }), starred ? "starred" : "no longer starred");
  }
  const markFinished = () => forEach(selected(), finishRun, "marked as finished");

  /** @param {() => void} close */
  function tagForm(close) {
    const field = /** @type {HTMLInputElement} */ (
      h("input", { class: "field", "aria-label": "Tag", placeholder: "Tag, such as baseline", maxlength: 200, required: true })
    );
    const present = [...new Set(selected().flatMap((id) => run(id)?.tags ?? []))].sort();
    const form = h(
      "form",
      { class: "menu-body" },
      h("h3", {}, `Tag ${count(selected().length, "run")}`),
      field,
      h("button", { type: "submit", class: "button button-strong" }, "Add tag"),
      present.length > 0 && h("h3", {}, "Remove"),
      h(
        "ul",
        { class: "menu-list" },
        present.map((tag) =>
          h(
            "li",
            {},
            h("span", { class: "tag" }, tag),
            h(
              "button",
              {
                type: "button",
                class: "icon-button",
                "aria-label": `Remove the tag ${tag}`,
                on: {
                  click: () => {
                    close();
                    void forEach(selected(), (id) => describeRun(id, { remove_tags: [tag] }), `without the tag ${tag}`);
                  },
                },
              },
              icon("close"),
            ),
          ),
        ),
      ),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const tag = field.value.trim();
      close();
      if (tag) void forEach(selected(), (id) => describeRun(id, { add_tags: [tag] }), `tagged ${tag}`);
    });
    return form;
  }

  return {
    element,
    toggleStar,
    draw() {
      const ids = selected();
      element.hidden = ids.length === 0;
      refill(label, `${count(ids.length, "run")} selected`);
      compare.setAttribute("href", compareAddress(ids));
      star.textContent = ids.length > 0 && allStarred() ? "☆ Unstar" : "★ Star";
    },
  };
}
