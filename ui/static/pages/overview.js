// @ts-check
/** The overview: all runs, what runs and needs attention first; found by a filter, compared, tagged, saved as views. */

import { severityMark } from "../lib/badges.js";
import { h, isReadOnly, refill } from "../lib/dom.js";
import * as keys from "../lib/keyboard.js";
import { listen, throttled } from "../lib/live.js";
import { empty, sendingExamples } from "../lib/placeholders.js";
import { go } from "../lib/router.js";
import { savedViews } from "../lib/runs_api.js";
import { defaultColumns, isValue } from "../runs/columns.js";
import { columnsMenu } from "../runs/columns_menu.js";
import { filterField, filterProblem } from "../runs/filter_field.js";
import { sectionOf, statusHeading, statusNote, withSection } from "../runs/headline.js";
import { compareAddress, selectionBar } from "../runs/selection_bar.js";
import { runSource } from "../runs/source.js";
import { runTable, SECTION_TITLES } from "../runs/table.js";
import { shareMenu, viewsMenu } from "../runs/views_menu.js";
import { watchAgents } from "./agent_status.js";

/** @typedef {import("../lib/api_types.js").RunInfo} RunInfo */
/** @typedef {import("../lib/api_types.js").SavedView} SavedView */

const REFRESH = 1500; // ms
const DEFAULT_SORT = "attention";
/** Where the list was scrolled to, for the way back from a run. */
const lastPlace = { address: "", top: 0 };

/** @type {import("../lib/router.js").Page} */
export async function show(root, { signal, query, setQuery, onQuery, title }) {
  const place = { ...lastPlace };
  /** @type {SavedView[]} */
  let views = [];
  /** @type {Set<string>} */
  const selected = new Set();
  let anchor = -1;
  let searched = "";
  const heading = h("h1", { class: "status-heading" });
  const note = h("p", { class: "quiet number status-note" });
  const sections = h("div", { class: "segmented", role: "group", "aria-label": "Section" });
  const nothing = h("div", { hidden: true });
  const agents = watchAgents(signal);
  const source = runSource(signal, draw, (error) => console.warn("Holter: refresh failed:", error.message));
  const filter = filterField(signal, {
    onFilter: (text) => change({ filter: text }),
    onLeave: () => move(0),
  });
  const table = runTable({
    rowAt: source.rowAt,
    need: source.need,
    isSelected: (id) => selected.has(id),
    onSelect: select,
    onSort: (sort) => change({ sort }),
  });
  const bar = selectionBar({
    selected: () => [...selected],
    run: source.run,
    onDone: () => void refresh(),
    onClear: clearSelection,
  });
  const menus = h(
    "div",
    { class: "row needs-login" },
    columnsMenu(signal, { columns: shownColumns, onChange: (columns) => change({ columns: columns ?? [] }) }),
    viewsMenu({ views: () => views, current, currentView, onSaved }),
    shareMenu(sharedAddress),
  );

  /** The view of the address, else the default one. @returns {SavedView | null} */
  function currentView() {
    const parameters = query();
    const wanted = parameters.get("view");
    if (wanted) return views.find(({ id }) => String(id) === wanted) ?? null;
    if (["q", "sort", "columns", "state"].some((name) => parameters.has(name))) return null;
    const project = parameters.get("project") ?? "";
    return views.find((view) => view.is_default && view.project === project) ?? null;
  }

  /** Filter, order and columns: of the address, or of a view. */
  function current() {
    const parameters = query();
    const view = currentView();
    if (view) return { filter: view.filter, sort: view.sort, columns: view.columns };
    const parts = [
      parameters.get("project") && `project:"${parameters.get("project")}"`,
      parameters.get("state") && `state:${parameters.get("state")}`,
      parameters.get("q"),
    ];
    return {
      filter: parts.filter(Boolean).join(" "),
      sort: parameters.get("sort") ?? "",
      columns: parameters.getAll("columns"),
    };
  }

  /** The address of what is shown, without a view that somebody may change. */
  function sharedAddress() {
    const { filter: q, sort, columns } = current();
    const parameters = new URLSearchParams(columns.map((column) => ["columns", column]));
    if (q) parameters.set("q", q);
    if (sort) parameters.set("sort", sort);
    return `/${parameters.size ? `?${parameters}` : ""}`;
  }

  function shownColumns() {
    const { columns } = current();
    if (columns.length > 0) return columns;
    return defaultColumns(innerWidth / parseFloat(getComputedStyle(document.documentElement).fontSize));
  }

  /** Another filter, order or columns: from then on the address has all of them. @param {Partial<ReturnType<typeof current>>} changes */
  function change(changes) {
    const { filter: q, sort, columns } = { ...current(), ...changes };
    setQuery({ q, sort, columns, view: null, project: null, state: null });
    void follow();
  }

  /** Show what the address asks for. */
  async function follow() {
    const { filter: text, sort } = current();
    filter.set(text);
    const wanted = { filter: text, sort: sort || DEFAULT_SORT, columns: shownColumns().filter(isValue) };
    const key = JSON.stringify(wanted);
    if (key === searched) return draw();
    searched = key;
    try {
      await source.search(wanted);
      filter.say(source.notices.join(". "));
    } catch (error) {
      const problem = filterProblem(/** @type {Error} */ (error).message);
      if (!problem && source.counts === null) throw error;
      filter.say(problem ? `At character ${problem.position + 1}: ${problem.text}` : /** @type {Error} */ (error).message, true);
      if (source.counts === null) await source.search({ ...wanted, filter: "" });
    }
  }

  function draw() {
    const { counts } = source;
    if (!counts) return;
    const [severity, text] = statusHeading(counts, source.isAnyJudged());
    title(severity === "ok" || severity === "unknown" ? "" : `${severity === "warning" ? "! " : ""}${text}`);
    refill(heading, severityMark(severity, text));
    note.textContent = statusNote(counts);
    if (counts.all === 0) {
      refill(root, h("h1", { class: "visually-hidden" }, "Runs"), agents.troubled, noRunsYet(), agents.all);
      return;
    }
    if (!table.element.isConnected) attach();
    drawSections();
    const { sort } = current();
    const isDefault = (sort || DEFAULT_SORT) === DEFAULT_SORT;
    nothing.hidden = counts.found > 0;
    table.element.hidden = counts.found === 0;
    table.show({
      found: counts.found,
      sections: isDefault ? counts.sections : null,
      columns: shownColumns(),
      sort,
    });
    bar.draw();
  }

  function attach() {
    refill(
      nothing,
      empty(
        "No matching runs",
        "No run matches the filter.",
        null,
        h("button", { type: "button", class: "button", on: { click: () => change({ filter: "" }) } }, "Show all runs"),
      ),
    );
    refill(
      root,
      h("header", { class: "page-head" }, h("div", {}, heading, note), h("div", { class: "controls" }, sections, menus)),
      agents.troubled,
      filter.element,
      bar.element,
      nothing,
      table.element,
      agents.all,
    );
  }

  function drawSections() {
    if (sections.contains(document.activeElement) && sections.childElementCount > 0) return markSection();
    refill(
      sections,
      [["", "All"], ...Object.entries(SECTION_TITLES)].map(([key, text]) =>
        h(
          "button",
          {
            type: "button",
            data: { section: key },
            on: { click: () => change({ filter: withSection(current().filter, key) }) },
          },
          key === "unresolved" ? "Unresolved" : text,
        ),
      ),
    );
    markSection();
  }

  function markSection() {
    const wanted = sectionOf(current().filter);
    for (const button of /** @type {HTMLElement[]} */ ([...sections.children]))
      button.setAttribute("aria-pressed", String(button.dataset.section === wanted));
  }

  /** Select a run or deselect it; with shift, all runs from the last selected one. @param {number} index @param {{ shift: boolean }} event */
  async function select(index, { shift }) {
    const run = source.rowAt(index);
    if (!run) return;
    if (shift && anchor >= 0) {
      for (const id of await source.ids(Math.min(anchor, index), Math.max(anchor, index))) selected.add(id);
    } else if (!selected.delete(run.id)) selected.add(run.id);
    anchor = index;
    table.redraw();
    bar.draw();
  }

  function clearSelection() {
    selected.clear();
    anchor = -1;
    table.redraw();
    bar.draw();
  }

  /** @param {number} offset */
  function move(offset) {
    const last = (source.counts?.found ?? 0) - 1;
    if (last < 0) return;
    const wanted = table.active < 0 && Number.isFinite(offset) ? 0 : Math.max(0, table.active) + offset;
    table.activate(Math.max(0, Math.min(last, wanted)));
  }

  /** Extend the selection by keyboard. @param {number} offset */
  function extend(offset) {
    if (table.active < 0) return move(0);
    const run = source.rowAt(table.active);
    if (run && !selected.has(run.id)) void select(table.active, { shift: false });
    move(offset);
    const next = source.rowAt(table.active);
    if (next && !selected.has(next.id)) void select(table.active, { shift: false });
  }

  const active = () => (table.active < 0 ? undefined : source.rowAt(table.active));
  const pageRows = () => Math.max(1, table.visibleRuns()[1] - table.visibleRuns()[0] - 16);

  /** @param {SavedView | null} saved */
  async function onSaved(saved) {
    views = await savedViews(signal);
    if (saved) setQuery({ q: null, sort: null, columns: null, project: null, state: null, view: String(saved.id) });
    void follow();
  }

  function refresh() {
    const [from, to] = table.element.isConnected ? table.visibleRuns() : [0, 0];
    return source.refresh(from, to);
  }

  keys.bind(signal, [
    { keys: "/", label: "Filter runs", run: () => filter.input.focus() },
    { keys: "j, ArrowDown", label: "Next run", run: () => move(1) },
    { keys: "k, ArrowUp", label: "Previous run", run: () => move(-1) },
    { keys: "J", label: "Select and go to the next run", run: () => extend(1) },
    { keys: "K", label: "Select and go to the previous run", run: () => extend(-1) },
    { keys: "PageDown", label: "Next page", run: () => move(pageRows()) },
    { keys: "PageUp", label: "Previous page", run: () => move(-pageRows()) },
    { keys: "Home", label: "First run", run: () => move(-Infinity) },
    { keys: "End", label: "Last run", run: () => move(Infinity) },
    { keys: "x", label: "Select the run", run: () => table.active >= 0 && void select(table.active, { shift: false }) },
    { keys: "c", label: "Compare the selected runs", run: () => selected.size > 0 && go(compareAddress([...selected])) },
    { keys: "s", label: "Star the selected runs", run: () => selected.size > 0 && void bar.toggleStar() },
    { keys: "Escape", label: "Clear the selection", run: clearSelection },
    { keys: "Enter", label: "Open the run", run: () => active() && go(`/runs/${encodeURIComponent(/** @type {RunInfo} */ (active()).id)}`) },
  ]);
  onQuery(() => void follow());
  addEventListener("resize", () => void follow(), { signal });
  signal.addEventListener("abort", () =>
    Object.assign(lastPlace, { address: place.address, top: table.element.scrollTop }),
  );
  const update = throttled(signal, REFRESH, refresh);
  listen(signal, { points: update, run: update, incident: update, reconnected: update });
  views = isReadOnly() ? [] : await savedViews(signal).catch(() => []);
  place.address = location.search;
  await follow();
  if (lastPlace.address === location.search && lastPlace.top > 0)
    requestAnimationFrame(() => (table.element.scrollTop = lastPlace.top));
}

function noRunsYet() {
  return empty(
    "No runs yet",
    "Watch a folder of logs (TensorBoard, W&B, CSV, JSON Lines, console output). Its runs appear here automatically:",
    "holter watch ./runs",
    ...sendingExamples("llm", "my-first-run"),
  );
}
