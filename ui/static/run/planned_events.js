// @ts-check
/** The planned events of a run: a list with a form to add one. */

import { plannedEventSource, plannedEventSteps, plannedEventTitle } from "../charts/planned_events.js";
import * as api from "../lib/api.js";
import { kinds, kindTitle } from "../lib/catalogue.js";
import { h, refill } from "../lib/dom.js";
import { sentenceCase } from "../lib/format.js";
import { icon } from "../lib/icons.js";
import { toast } from "../lib/toasts.js";

/** @typedef {import("../lib/api_types.js").PlannedEventView} PlannedEventView */

const PLANS = ["learning rate", "data switch", "batch size", "evaluation", "maintenance"];

/**
 * One planned event of a list, with a button to remove it unless it is set in a file.
 * @param {PlannedEventView} event @param {import("../lib/dom.js").Child[]} origin @param {() => unknown} remove
 */
export function plannedEventItem(event, origin, remove) {
  const { id, metric, note } = event;
  const name = plannedEventTitle(event);
  return h(
    "li",
    { class: "planned-item" },
    h(
      "div",
      {},
      h("b", {}, name),
      " ",
      h("span", { class: "number" }, plannedEventSteps(event)),
      metric === "*" ? null : h("span", { class: "quiet" }, ` · ${metric}`),
      note ? h("p", {}, note) : null,
      origin.length ? h("p", { class: "quiet" }, ...origin) : null,
    ),
    id === null
      ? null
      : h(
          "button",
          { type: "button", class: "icon-button", "aria-label": `Remove ${name}`, on: { click: remove } },
          icon("close"),
        ),
  );
}

/** @param {{ runId: string, project: string, onChange: (expected: PlannedEventView[]) => void }} options */
export function createPlannedEvents({ runId, project, onChange }) {
  /** @type {PlannedEventView[]} */
  let expected = [];
  const summary = h("summary", {});
  const list = h("ul", { class: "planned-list" });
  const form = plannedEventForm((event) => change(api.addPlannedEvent(runId, event), "Planned event added"));
  const element = h(
    "details",
    { class: "all-series planned", id: "expected" },
    summary,
    h("p", { class: "quiet" }, "Incidents of these kinds that begin within these steps are suppressed."),
    list,
    form,
  );

  /** @param {PlannedEventView[]} events */
  function show(events) {
    expected = events;
    refill(
      summary,
      "Planned events",
      expected.length ? h("span", { class: "quiet number" }, ` ${expected.length}`) : null,
    );
    refill(list, ...expected.map(item));
    onChange(expected);
  }

  /** @param {PlannedEventView} event */
  function item(event) {
    const source = plannedEventSource(event);
    return plannedEventItem(event, source ? [source] : [], () =>
      change(
        api.removePlannedEvent(runId, project, event),
        `Planned event removed: ${plannedEventTitle(event)}`,
      ),
    );
  }

  /** @param {Promise<unknown>} request @param {string} message */
  async function change(request, message) {
    try {
      await request;
      show(await api.plannedEventsOf(runId));
      toast(message);
      return true;
    } catch (error) {
      toast(`Failed: ${/** @type {Error} */ (error).message}`, { tone: "critical" });
      return false;
    }
  }

  return { element, show };
}

/** A form for a planned event. @param {(event: object) => Promise<boolean>} add */
export function plannedEventForm(add) {
  const planField = h(
    "select",
    { class: "select", name: "what", "aria-label": "Planned event" },
    h(
      "optgroup",
      { label: "Plan" },
      PLANS.map((plan) => h("option", { value: `what:${plan}` }, sentenceCase(plan))),
    ),
    h(
      "optgroup",
      { label: "Incident kind" },
      kinds()
        .filter((kind) => !kind.startsWith("agent_")) // incidents of agents belong to no run
        .map((kind) => h("option", { value: `kind:${kind}` }, kindTitle(kind))),
    ),
  );
  const fields = [
    numberField("from_step", "From step"),
    numberField("to_step", "To step"),
    numberField("every", "Repeat every (steps)"),
    numberField("lasting", "Duration (steps)"),
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
      planField,
      ...fields,
      note,
      h("button", { type: "submit", class: "button" }, icon("plus"), "Add"),
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
