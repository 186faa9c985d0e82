// @ts-check
/** The planned events of all projects and runs, with a form for those of an entire project. */

import { plannedEventSource, plannedEventTitle } from "../charts/planned_events.js";
import * as api from "../lib/api.js";
import { copyBlock, h, link, refill } from "../lib/dom.js";
import { ago, clock, count } from "../lib/format.js";
import { pageHead, section } from "../lib/page_parts.js";
import { empty } from "../lib/placeholders.js";
import { toast } from "../lib/toasts.js";
import { plannedEventForm, plannedEventItem } from "../run/planned_events.js";

/** @typedef {import("../lib/api_types.js").PlannedEventEntry} PlannedEventEntry */

/** Planned events by project, in the order of their names. Pure. @param {PlannedEventEntry[]} events @returns {[string, PlannedEventEntry[]][]} */
export function byProject(events) {
  const names = [...new Set(events.map(({ project }) => project))].sort();
  return names.map((name) => [name, events.filter(({ project }) => project === name)]);
}

/** The events with all words in their texts. Pure. @param {PlannedEventEntry[]} events @param {string} q */
export function matchingEvents(events, q) {
  const words = q.toLowerCase().split(/\s+/).filter(Boolean);
  return events.filter((event) => {
    const text = `${event.project} ${event.run ?? ""} ${plannedEventTitle(event)} ${event.note} ${event.metric}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

/** @type {import("../lib/router.js").Page} */
export async function show(root, { signal, query, setQuery, search, title }) {
  let [events, runs] = await Promise.all([api.allPlannedEvents(signal), api.runs(signal)]);
  const projects = [...new Set(runs.map(({ project }) => project))].sort();
  const list = h("div", {});
  title("Planned");

  function draw() {
    const shown = matchingEvents(events, query().get("q") ?? "");
    const none = events.length
      ? empty("No matching planned events", "No planned event has these words.")
      : empty(
          "No planned events",
          "Findings within a planned event open no incident: a change of the learning rate, a data switch, an evaluation every 1,000 steps. " +
            (runs.length ? "Add one below, on a run's page, or in holter.toml:" : "Add one in holter.toml, and here once there are runs:"),
          null,
          copyBlock('[projects.llm]\nexpected = [{ what = "evaluation", every = 1000, lasting = 20 }]'),
        );
    refill(list, ...(shown.length ? byProject(shown).map(([name, own]) => projectSection(name, own)) : [none]));
  }

  /** @param {string} name @param {PlannedEventEntry[]} own */
  const projectSection = (name, own) =>
    section(name, h("ul", { class: "planned-list" }, own.map((event) => item(event, remove))));

  /** @param {PlannedEventEntry} event */
  const remove = (event) =>
    change(api.removePlannedEvent(event.run_id ?? "", event.project, event), `Planned event removed: ${plannedEventTitle(event)}`);

  /** @param {Promise<unknown>} request @param {string} message */
  async function change(request, message) {
    try {
      await request;
      events = await api.allPlannedEvents(signal);
      draw();
      toast(message);
      return true;
    } catch (error) {
      toast(`Not changed: ${/** @type {Error} */ (error).message}`, { tone: "critical" });
      return false;
    }
  }

  search({
    label: "Search planned events",
    value: query().get("q") ?? "",
    onInput(q) {
      setQuery({ q });
      draw();
    },
  });
  const head = pageHead("Planned events", events.length ? count(events.length, "planned event") : "");
  const add = (/** @type {object} */ event) =>
    change(api.addProjectEvent(project.value, event), "Planned event added");
  const project = /** @type {HTMLSelectElement} */ (
    h("select", { class: "select", "aria-label": "Project" }, projects.map((name) => h("option", { value: name }, name)))
  );
  const form = section("For all runs of a project", h("div", { class: "planned-project" }, project, plannedEventForm(add)));
  refill(root, head, list, projects.length ? form : null);
  draw();
}

/** @param {PlannedEventEntry} event @param {(event: PlannedEventEntry) => Promise<boolean>} remove */
function item(event, remove) {
  const { run, run_id: runId, added_at: at } = event;
  const where = runId === null ? "all runs" : link(`/runs/${encodeURIComponent(runId)}#expected`, { class: "inbox-run" }, run);
  const source = plannedEventSource(event);
  const time = at === null ? [] : [" · ", h("time", { title: clock(at), data: { ago: String(at) } }, ago(at))];
  return plannedEventItem(event, [where, source && ` · ${source}`, ...time], () => void remove(event));
}
