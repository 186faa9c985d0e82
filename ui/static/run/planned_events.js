// @ts-check
/** What is planned for a run: a list with a way to add and remove, at the foot of its page. */

import * as api from "../lib/api.js";
import { h, refill } from "../lib/dom.js";
import { plannedEventSource, plannedEventSteps, plannedEventTitle } from "../charts/planned_events.js";
import { icon } from "../lib/icons.js";
import { toast } from "../lib/toasts.js";
import { KIND_NAMES, kindTitle, sentence } from "../lib/labels.js";

/** @typedef {import("../lib/api_types.js").PlannedEventView} PlannedEventView */

const PLANS = ["learning rate", "data switch", "batch size", "evaluation", "maintenance"];

/** @param {{ runId: string, project: string, onChange: (expected: PlannedEventView[]) => void }} options */
export function createPlannedEvents({ runId, project, onChange }) {
  /** @type {PlannedEventView[]} */
  let expected = [];
  const summary = h("summary", {});
  const list = h("ul", { class: "planned-list" });
  const form = plannedEventForm((event) => change(api.expect(runId, event), "Expected from now on"));
  const element = h(
    "details",
    { class: "all-series planned", id: "expected" },
    summary,
    h("p", { class: "quiet" }, "What is planned raises no incident where it begins in these steps."),
    list,
    form,
  );

  /** @param {PlannedEventView[]} now */
  function show(now) {
    expected = now;
    refill(summary, "Expected", expected.length ? h("span", { class: "quiet number" }, ` ${expected.length}`) : null);
    refill(list, ...expected.map(item));
    onChange(expected);
  }

  /** @param {PlannedEventView} event */
  function item(event) {
    const name = plannedEventTitle(event);
    const remove = () => change(api.unexpect(runId, project, event), `Not expected any more: ${name}`);
    return h(
      "li",
      { class: "planned-item" },
      h(
        "div",
        {},
        h("b", {}, name),
        " ",
        h("span", { class: "number" }, plannedEventSteps(event)),
        event.metric === "*" ? null : h("span", { class: "quiet" }, ` · ${event.metric}`),
        event.note ? h("p", {}, event.note) : null,
        plannedEventSource(event) ? h("p", { class: "quiet" }, plannedEventSource(event)) : null,
      ),
      event.id === null
        ? null
        : h(
            "button",
            { type: "button", class: "icon-button", "aria-label": `Remove ${name}`, on: { click: remove } },
            icon("close"),
          ),
    );
  }

  /** @param {Promise<unknown>} doing @param {string} done */
  async function change(doing, done) {
    try {
      await doing;
      show(await api.expectedIn(runId));
      toast(done);
      return true;
    } catch (error) {
      toast(`Not done: ${/** @type {Error} */ (error).message}`, { tone: "critical" });
      return false;
    }
  }

  return { element, show };
}

/** @param {(event: object) => Promise<boolean>} add */
function plannedEventForm(add) {
  const what = h(
    "select",
    { class: "select", name: "what", "aria-label": "What is planned" },
    h(
      "optgroup",
      { label: "A plan" },
      PLANS.map((plan) => h("option", { value: `what:${plan}` }, sentence(plan))),
    ),
    h(
      "optgroup",
      { label: "One kind" },
      KIND_NAMES.map((kind) => h("option", { value: `kind:${kind}` }, kindTitle(kind))),
    ),
  );
  const fields = [
    numberField("from_step", "From step"),
    numberField("to_step", "to step"),
    numberField("every", "Every"),
    numberField("lasting", "for steps"),
  ];
  const note = h("input", {
    class: "field",
    name: "note",
    placeholder: "Note",
    "aria-label": "Note",
    maxlength: 500,
  });
  const form = /** @type {HTMLFormElement} */ (
    h(
      "form",
      { class: "planned-form", on: { submit } },
      what,
      ...fields,
      note,
      h("button", { type: "submit", class: "button" }, icon("plus"), "Expect"),
    )
  );

  /** @param {Event} event */
  async function submit(event) {
    event.preventDefault();
    const data = new FormData(form);
    const [name, value] = String(data.get("what")).split(":");
    const steps = ["from_step", "to_step", "every", "lasting"].flatMap((field) =>
      data.get(field) === "" ? [] : [[field, Number(data.get(field))]],
    );
    const done = await add({
      [name]: value,
      ...Object.fromEntries(steps),
      note: String(data.get("note")).trim(),
    });
    if (done) form.reset();
  }
  return form;
}

/** @param {string} name @param {string} label */
function numberField(name, label) {
  return h(
    "label",
    { class: "planned-number" },
    h("span", { class: "quiet" }, label),
    h("input", { class: "field number", type: "number", name, min: 0, step: 1, inputmode: "numeric" }),
  );
}
