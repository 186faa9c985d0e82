// @ts-check
/** The form for a new silence: matchers, how long, why. */

import { author } from "../incidents/author.js";
import { h } from "../lib/dom.js";

/** @type {[string, number][]} */
const DURATIONS = [
  ["30 minutes", 1800],
  ["2 hours", 7200],
  ["8 hours", 28_800],
  ["1 day", 86_400],
  ["7 days", 604_800],
];

/** The matchers of a line, separated by commas outside of quotes. Pure. @param {string} text */
export const splitMatchers = (text) =>
  (text.match(/(?:"(?:[^"\\]|\\.)*"|[^,"])+/g) ?? []).map((matcher) => matcher.trim()).filter(Boolean);

/** @param {(silence: object) => Promise<void>} add */
export function createSilenceForm(add) {
  const form = /** @type {HTMLFormElement} */ (
    h(
      "form",
      { class: "silence-form", on: { submit } },
      h("input", {
        class: "field",
        name: "matchers",
        required: true,
        "aria-label": "Matchers",
        placeholder: 'project="llm", kind=~"spike_.*"',
        spellcheck: "false",
        autocomplete: "off",
      }),
      h(
        "select",
        { class: "select", name: "seconds", "aria-label": "Duration" },
        DURATIONS.map(([text, seconds]) => h("option", { value: String(seconds) }, text)),
      ),
      h("input", { class: "field", name: "comment", required: true, maxlength: 2000, "aria-label": "Reason", placeholder: "Reason" }),
      h("button", { type: "submit", class: "button" }, "Add silence"),
    )
  );

  /** @param {Event} event */
  async function submit(event) {
    event.preventDefault();
    const data = new FormData(form);
    await add({
      matchers: splitMatchers(String(data.get("matchers"))),
      comment: String(data.get("comment")),
      seconds: Number(data.get("seconds")),
      ...author(),
    });
    form.reset();
  }
  return form;
}
