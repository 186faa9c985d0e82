// @ts-check
/** The overview: all runs, those with problems first. */

import { drawStrip } from "../charts/health_strip.js";
import * as api from "../lib/api.js";
import { severityMark, stateMark } from "../lib/badges.js";
import { healthTitle, kindTitle, metricUnit, severityRank } from "../lib/catalogue.js";
import { h, link, refill } from "../lib/dom.js";
import { ago, count, number, reading, step as stepText, stepTime } from "../lib/format.js";
import * as keys from "../lib/keyboard.js";
import { listen, throttled } from "../lib/live.js";
import { empty } from "../lib/placeholders.js";
import { go } from "../lib/router.js";
import { watchAgents } from "./agent_status.js";

/** @typedef {import("../lib/api_types.js").RunInfo} RunInfo */

const REFRESH = 1500; // ms
const STATES = ["", "running", "stalled", "finished"];
/** @type {Record<string, (a: RunInfo, b: RunInfo) => number>} */
const ORDERS = {
  trouble: (a, b) =>
    group(a) - group(b) ||
    severityRank(a.health) - severityRank(b.health) ||
    Number(a.state === "finished") - Number(b.state === "finished") ||
    lastUpdate(b) - lastUpdate(a),
  updated: (a, b) => lastUpdate(b) - lastUpdate(a),
  name: (a, b) => a.name.localeCompare(b.name, "en", { numeric: true }),
  step: (a, b) => (b.last_step ?? -1) - (a.last_step ?? -1),
};
/** The time of a run's newest point. @param {RunInfo} run */
const lastUpdate = (run) => run.last_time ?? run.updated_at;
const GROUPS = ["Needs attention", "Running", "Finished"];

/** The group of a run: 0 needs attention, 1 running, 2 finished. Pure. @param {RunInfo} run */
export function group(run) {
  const trouble =
    run.damaged || run.health === "critical" || run.health === "warning" || run.state === "stalled";
  if (trouble) return 0;
  return run.state === "running" ? 1 : 2;
}

/** The heading of the overview and its severity. Pure. @param {RunInfo[]} runs @returns {[string, string]} */
export function statusHeading(runs) {
  const troubled = runs.filter((run) => group(run) === 0);
  if (troubled.length === 0) {
    const running = runs.filter((run) => run.state === "running").length;
    return [
      "ok",
      running ? `No problems, ${count(running, "run")} running` : "No problems, no run is running",
    ];
  }
  const worst = troubled.some((run) => run.damaged || run.health === "critical") ? "critical" : "warning";
  return [worst, `${count(troubled.length, "run needs", "runs need")} attention`];
}

/** @param {RunInfo} run @param {{ q: string, state: string, project: string }} filter */
export function matches(run, { q, state, project }) {
  const text =
    `${run.project}/${run.name} ${run.worst ? `${kindTitle(run.worst.kind)} ${run.worst.kind}` : ""}`.toLowerCase();
  return (
    (!state || run.state === state) &&
    (!project || run.project === project) &&
    q
      .toLowerCase()
      .split(/\s+/)
      .every((word) => text.includes(word))
  );
}

/** @type {import("../lib/router.js").Page} */
export async function show(root, { signal, query, setQuery, onQuery, search, title }) {
  let runs = await api.runs(signal);
  let selectedId = "";
  /** @type {Map<string, { text: string, element: HTMLElement }>} */
  const rows = new Map();
  const heading = h("h1", { class: "status-heading" });
  const controls = h("div", { class: "controls" });
  const list = h("div", { class: "run-list" });
  const agents = watchAgents(signal);

  const filter = () => {
    const parameters = query();
    return {
      q: parameters.get("q") ?? "",
      state: parameters.get("state") ?? "",
      project: parameters.get("project") ?? "",
      sort: parameters.get("sort") ?? "trouble",
    };
  };

  /** @param {Record<string, string>} changes */
  function change(changes) {
    setQuery(changes);
    draw();
  }

  function draw() {
    const current = filter();
    const [severity, text] = statusHeading(runs);
    title(severity === "ok" ? "" : `! ${text}`);
    refill(heading, severityMark(severity, text));
    if (runs.length === 0)
      return refill(
        root,
        h("h1", { class: "visually-hidden" }, "Runs"),
        agents.troubled,
        noRunsYet(),
        agents.all,
      );
    if (!list.isConnected)
      refill(root, h("header", { class: "page-head" }, heading, controls), agents.troubled, list, agents.all);
    drawControls(current);
    const shown = runs.filter((run) => matches(run, current)).sort(ORDERS[current.sort] ?? ORDERS.trouble);
    if (shown.length === 0)
      return refill(
        list,
        empty(
          "No matching runs",
          "No run matches the search and the filters.",
          null,
          h("button", { type: "button", class: "button", on: { click: clear } }, "Show all runs"),
        ),
      );
    replaceRows(current.sort === "trouble" ? grouped(shown) : [h("ul", { class: "rows" }, shown.map(row))]);
  }

  function clear() {
    search({ label: "Search runs", onInput: (q) => change({ q }) });
    change({ q: "", state: "", project: "" });
  }

  /** Replace the rows and restore the focus. @param {HTMLElement[]} children */
  function replaceRows(children) {
    const focused = /** @type {HTMLElement | null} */ (
      document.activeElement?.closest?.("[data-run]") ?? null
    )?.dataset.run;
    refill(
      list,
      h(
        "div",
        { class: "run-head quiet", "aria-hidden": "true" },
        ["", "History", "Loss", "Speed", "Step", "Updated"].map((text) => h("span", {}, text)),
      ),
      children,
    );
    if (focused) rows.get(focused)?.element.querySelector("a")?.focus({ preventScroll: true });
    markSelected();
  }

  /** @param {RunInfo[]} shown */
  function grouped(shown) {
    return GROUPS.flatMap((name, i) => {
      const members = shown.filter((run) => group(run) === i);
      if (members.length === 0) return [];
      return [
        h(
          "section",
          { "aria-label": name, class: `group group-${i}` },
          h("h2", { class: "group-title" }, name, h("span", { class: "quiet number" }, ` ${members.length}`)),
          h("ul", { class: "rows" }, members.map(row)),
        ),
      ];
    });
  }

  /** The row of a run, drawn again only if the run has changed. @param {RunInfo} run */
  function row(run) {
    const text = JSON.stringify(run);
    const old = rows.get(run.id);
    if (old?.text === text) return old.element;
    const element = runRow(run);
    rows.set(run.id, { text, element });
    return element;
  }

  /** @param {{ state: string, project: string, sort: string }} wanted */
  function drawControls({ state, project, sort }) {
    if (controls.contains(document.activeElement) && document.activeElement?.tagName === "SELECT") return;
    const projects = [...new Set(runs.map((run) => run.project))].sort();
    const states = STATES.filter(
      (candidate) => candidate === "" || candidate === state || runs.some((run) => run.state === candidate),
    );
    refill(
      controls,
      h(
        "div",
        { class: "segmented", role: "group", "aria-label": "State" },
        states.map((option) =>
          h(
            "button",
            {
              type: "button",
              "aria-pressed": String(option === state),
              on: { click: () => change({ state: option }) },
            },
            option ? stateMark(/** @type {any} */ (option)) : "All",
          ),
        ),
      ),
      projects.length > 1 &&
        select("Project", project, [["", "All projects"], ...projects.map((name) => [name, name])], (value) =>
          change({ project: value }),
        ),
      select(
        "Order",
        sort,
        [
          ["trouble", "Problems first"],
          ["updated", "Last updated"],
          ["name", "Name"],
          ["step", "Steps"],
        ],
        (value) => change({ sort: value === "trouble" ? "" : value }),
      ),
    );
  }

  const visible = () => /** @type {HTMLElement[]} */ ([...list.querySelectorAll("[data-run]")]);

  function markSelected() {
    for (const element of visible())
      element.classList.toggle("row-selected", element.dataset.run === selectedId);
  }

  /** @param {number} offset */
  function move(offset) {
    const all = visible();
    if (all.length === 0) return;
    const index = all.findIndex((element) => element.dataset.run === selectedId);
    const next = all[Math.max(0, Math.min(all.length - 1, index < 0 ? 0 : index + offset))];
    selectedId = next.dataset.run ?? "";
    markSelected();
    next.querySelector("a")?.focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
  }

  search({
    label: "Search runs",
    value: filter().q,
    onInput: (q) => change({ q }),
    onKey: (event) => event.key === "Enter" && move(0),
  });
  keys.bind(signal, [
    { keys: "j, ArrowDown", label: "Next run", run: () => move(1) },
    { keys: "k, ArrowUp", label: "Previous run", run: () => move(-1) },
    {
      keys: "Enter",
      label: "Open the run",
      run: () => selectedId && go(`/runs/${encodeURIComponent(selectedId)}`),
    },
  ]);
  onQuery(draw);
  const refresh = throttled(signal, REFRESH, async () => {
    runs = await api.runs(signal);
    draw();
  });
  listen(signal, { points: refresh, run: refresh, incident: refresh, reconnected: refresh });
  draw();
}

/** @param {string} label @param {string} value @param {string[][]} options @param {(value: string) => void} onChange */
function select(label, value, options, onChange) {
  const element = /** @type {HTMLSelectElement} */ (
    h(
      "select",
      { class: "select", "aria-label": label },
      options.map(([key, text]) => h("option", { value: key, selected: key === value }, text)),
    )
  );
  element.addEventListener("change", () => {
    element.blur();
    onChange(element.value);
  });
  return element;
}

/** @param {RunInfo} run */
function runRow(run) {
  const { loss, throughput, step_time: time } = run.latest;
  const [stepSeconds, unitText] = time ? stepTime(time.value, metricUnit("step_time", time.metric)) : [];
  const speed = throughput
    ? [
        reading("throughput", throughput.value),
        h("small", { class: "quiet" }, ` ${metricUnit("throughput", throughput.metric)}`),
      ]
    : time
      ? [stepSeconds, h("small", { class: "quiet" }, ` ${unitText}/step`)]
      : ["–"];
  const troubled = group(run) === 0;
  return h(
    "li",
    {
      class: `run-row health-${run.health} run-${run.state}${troubled ? " run-troubled" : ""}`,
      data: { run: run.id },
    },
    h(
      "div",
      { class: "run-name" },
      healthMark(run),
      link(`/runs/${encodeURIComponent(run.id)}`, { class: "run-link" }, run.name),
      h(
        "span",
        { class: "run-meta quiet" },
        stateMark(run.state),
        h("span", {}, run.project),
        run.attempts > 1 && h("span", { class: "number" }, count(run.attempts, "attempt")),
      ),
    ),
    h("div", { class: "strip" }, drawStrip(run.strip)),
    h("div", { class: "run-value number", data: { name: "Loss" } }, loss ? number(loss.value) : "–"),
    h("div", { class: "run-value number", data: { name: "Speed" } }, h("span", {}, speed)),
    h("div", { class: "run-value number", data: { name: "Step" } }, stepText(run.last_step)),
    h(
      "div",
      { class: "run-value number quiet", data: { name: "Updated" } },
      h("time", { data: { ago: String(lastUpdate(run)) } }, ago(lastUpdate(run))),
    ),
    run.damaged &&
      h(
        "p",
        { class: "run-incident" },
        `${run.damaged}. `,
        h("code", {}, "holter db check"),
        " lists all damage.",
      ),
    run.worst &&
      h(
        "p",
        { class: "run-incident" },
        link(`/incidents/${run.worst.id}`, {}, run.worst.summary),
        run.open_incidents > 1
          ? h("span", { class: "quiet" }, ` and ${count(run.open_incidents - 1, "more", "more")}`)
          : null,
      ),
  );
}

/** The health of a run; a stalled run without severe incidents is shown as stalled. @param {RunInfo} run */
function healthMark(run) {
  if (run.damaged) return severityMark("critical", "Damaged");
  if (run.state === "stalled" && severityRank(run.health) > severityRank("warning"))
    return severityMark("warning", "Stalled");
  return severityMark(run.health, healthTitle(run.health));
}

function noRunsYet() {
  return empty(
    "No runs yet",
    "Watch a folder of logs (TensorBoard, W&B, CSV, JSON Lines, console output). Its runs appear here automatically:",
    "holter watch ./runs",
    h("p", { class: "quiet" }, "Or send points over HTTP:"),
    h(
      "pre",
      { class: "example" },
      h(
        "code",
        {},
        `curl -X POST ${location.origin}/api/v1/ingest -H 'content-type: application/json' \\\n  -d '{"run": "my-first-run", "columns": {"step": [1, 2, 3], "loss": [2.3, 2.2, 2.1]}}'`,
      ),
    ),
  );
}
