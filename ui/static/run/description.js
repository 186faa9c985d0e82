// @ts-check
/** What people say about a run: star, group, tags and notes, edited in place. */

import { h, refill } from "../lib/dom.js";
import { popover } from "../lib/popover.js";
import { describeRun } from "../lib/runs_api.js";
import { toast } from "../lib/toasts.js";

/** @typedef {import("../lib/api_types.js").RunDetail} RunDetail */

const MAX_NOTES = 10_000; // characters

/** Tags of a comma-separated text, each once. Pure. @param {string} text @returns {string[]} */
export const tagsOf = (text) => [...new Set(text.split(",").map((tag) => tag.trim()).filter(Boolean))];

/**
 * The changes that turn a description into another. Pure.
 * @param {{ tags: string[], group: string | null, notes: string | null }} before
 * @param {{ tags: string[], group: string, notes: string }} after @returns {Parameters<typeof describeRun>[1]}
 */
export function changesOf(before, after) {
  const added = after.tags.filter((tag) => !before.tags.includes(tag));
  const removed = before.tags.filter((tag) => !after.tags.includes(tag));
  return {
    ...(added.length ? { add_tags: added } : {}),
    ...(removed.length ? { remove_tags: removed } : {}),
    ...(after.group !== (before.group ?? "") ? { group: after.group } : {}),
    ...(after.notes !== (before.notes ?? "") ? { notes: after.notes } : {}),
  };
}

/** @param {{ onChange: (run: RunDetail) => void }} events */
export function createDescription({ onChange }) {
  const element = h("div", { class: "run-description" });
  let drawn = "";

  /** @param {RunDetail} run */
  function show(run) {
    const { tags, starred, group, description } = run;
    const content = JSON.stringify([tags, starred, group, description?.notes]);
    if (content === drawn) return;
    if (element.querySelector(".popover-panel:not([hidden])")) return; // somebody is typing
    drawn = content;
    const notes = description?.notes ?? "";
    refill(
      element,
      starButton(run),
      group && h("span", { class: "quiet" }, `Group ${group}`),
      tags.map((tag) => h("span", { class: "tag" }, tag)),
      popover({ label: notes || tags.length || group ? "Edit notes" : "Add notes", className: "needs-login edit-notes" }, (close) =>
        form(run, close),
      ),
      notes && h("p", { class: "run-notes" }, notes),
    );
  }

  /** @param {RunDetail} run @param {Parameters<typeof describeRun>[1]} changes */
  async function change(run, changes) {
    if (Object.keys(changes).length === 0) return;
    try {
      const changed = await describeRun(run.id, changes);
      onChange(changed);
      show(changed);
    } catch (error) {
      toast(`Not changed: ${/** @type {Error} */ (error).message}`, { tone: "critical" });
    }
  }

  /** @param {RunDetail} run */
  function starButton(run) {
    const click = () => void change(run, { starred: !run.starred });
    return h(
      "button",
      {
        type: "button",
        class: "icon-button needs-login star-button",
        "aria-pressed": String(run.starred),
        "aria-label": "Star",
        title: run.starred ? "Remove the star" : "Star this run",
        on: { click },
      },
      h("span", { class: run.starred ? "star" : "" }, run.starred ? "★" : "☆"),
    );
  }

  /** @param {RunDetail} run @param {() => void} close */
  function form(run, close) {
    const before = { tags: run.tags, group: run.group, notes: run.description?.notes ?? null };
    const notes = /** @type {HTMLTextAreaElement} */ (h("textarea", { class: "field", rows: 5, maxlength: MAX_NOTES }));
    notes.value = before.notes ?? "";
    const group = textField(before.group ?? "", "sweep-7");
    const tags = textField(before.tags.join(", "), "baseline, 7B");
    const submit = (/** @type {Event} */ event) => {
      event.preventDefault();
      close();
      const after = { tags: tagsOf(tags.value), group: group.value.trim(), notes: notes.value.trim() };
      void change(run, changesOf(before, after));
    };
    return h(
      "form",
      { on: { submit } },
      h("label", {}, "Notes", notes),
      h("label", {}, "Group", group),
      h("label", {}, "Tags, separated by commas", tags),
      h("button", { type: "submit", class: "button button-strong" }, "Save"),
    );
  }
  return { element, show };
}

/** @param {string} value @param {string} placeholder */
function textField(value, placeholder) {
  const field = /** @type {HTMLInputElement} */ (h("input", { class: "field", placeholder, maxlength: 200 }));
  field.value = value;
  return field;
}
