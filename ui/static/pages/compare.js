// @ts-check
/** The page that compares runs: their curves on one set of charts, differences from a baseline, what differs. */

import { createBoard, palette } from "../charts/board.js";
import { readModes, toggleMetric } from "../charts/view_options.js";
import { runColour } from "../compare/colours.js";
import { chartAxis, chartCurves, fullRange, groupsOf, X_AXES } from "../compare/curves.js";
import { createDifferences } from "../compare/differences.js";
import { createRunList } from "../compare/run_list.js";
import * as chartApi from "../lib/chart_api.js";
import { h, link, refill } from "../lib/dom.js";
import { icon } from "../lib/icons.js";
import * as keys from "../lib/keyboard.js";
import { listen, throttled } from "../lib/live.js";
import { empty } from "../lib/placeholders.js";
import * as prefs from "../lib/preferences.js";
import { moved } from "../run/actions.js";
import { smoothingControl } from "../run/chart_controls.js";

/** @typedef {import("../lib/router.js").PageContext} PageContext */
/** @typedef {import("../lib/api_types.js").CompareCurves} CompareCurves */
/** @typedef {import("../compare/curves.js").View} View */
/** @typedef {import("../charts/panel.js").ChartPlan} ChartPlan */

const REFRESH = 5000; // ms between requests while new points arrive
const FEW_RUNS = 8; // with more, each curve has fewer points and charts have no legend
const POINTS = 800; // per curve
const ALL_POINTS = 6000; // per chart, of many runs
const FILE_POINTS = 20_000; // per curve in a file
const AXIS_NAMES = /** @type {Record<string, string>} */ ({ wall: "wall time", relative: "relative time" });

/** The options in the address. Pure. @param {URLSearchParams} query */
export function readOptions(query) {
  const runs = [...new Set(query.getAll("runs").flatMap((text) => text.split(",")))].filter(Boolean);
  const x = query.get("x") ?? "step";
  const bounds = ["from", "to"].map((word) => (query.has(word) ? Number(query.get(word)) : NaN));
  const group = query.get("group");
  const view = /** @type {View} */ (query.get("show") ?? (group ? "groups" : "curves"));
  const smoothing = Number(query.get("smooth") ?? 0);
  return {
    runs,
    x: X_AXES.some(([name]) => name === x) ? x : "step",
    baseline: runs.includes(query.get("baseline") ?? "") ? query.get("baseline") : (runs[0] ?? null),
    group,
    view: (view === "groups" && !group) || !["curves", "difference", "ratio", "groups"].includes(view) ? "curves" : view,
    metrics: query.getAll("metric"),
    range: bounds[1] > bounds[0] ? /** @type {[number, number]} */ ([bounds[0], bounds[1]]) : null,
    smoothing: smoothing > 0 && smoothing < 1 ? smoothing : 0,
    modes: readModes(query),
  };
}

/** The range of the address on the axis of the charts: wall time in milliseconds. @param {ReturnType<typeof readOptions>} options @returns {[number, number] | null} */
const chartRange = ({ range, x }) => range && (x === "wall" ? [1000 * range[0], 1000 * range[1]] : range);

/** @type {import("../lib/router.js").Page} */
export async function show(root, context) {
  const { signal, query, setQuery, onQuery, title, search } = context;
  let options = readOptions(query());
  /** @type {CompareCurves | null} */
  let answer = null;
  let answeredKey = "";
  /** @type {string[]} settings by which runs can be grouped */
  let groupKeys = [];
  let detailsKey = "";
  let commonX = "step"; // what a step has equal amounts of in all runs
  title("Compare");

  /** @type {import("../charts/panel.js").Shared} */
  const shared = {
    axis: chartAxis(options.x),
    range: null,
    smoothing: options.smoothing,
    modes: options.modes,
    palette: palette(),
    attempts: [],
    incidents: [],
    selected: null,
    expected: [],
  };
  const colourOf = (/** @type {string} */ id) =>
    runColour(options.runs.indexOf(id), options.runs.length, shared.palette, prefs.theme() === "dark");

  /** The owners of curves: runs, or groups of runs. @returns {import("../compare/curves.js").Owners} */
  function owners() {
    const runs = answer?.runs ?? [];
    const groups = groupsOf(runs);
    return new Map([
      ...runs.map(({ id, name }) => /** @type {const} */ ([id, { id, name, colour: colourOf(id) }])),
      ...groups.map((group, i) => {
        const colour = runColour(i, groups.length, shared.palette, prefs.theme() === "dark");
        return /** @type {const} */ ([`group ${group}`, { id: `group ${group}`, name: `${options.group} ${group}`, colour }]);
      }),
    ]);
  }

  /** @param {number} points */
  const pointsOf = (points) =>
    options.runs.length <= FEW_RUNS ? points : Math.max(60, Math.round(ALL_POINTS / options.runs.length));

  /** @param {string[]} metrics @param {number} points */
  function request(metrics, points) {
    const { runs, baseline, x, group, range } = options;
    return chartApi.compareCurves({ runs, baseline, x, metrics, group, range, points }, signal);
  }

  /** What an answer depends on, besides its metrics. */
  const requestKey = () => {
    const { runs, baseline, x, group, range } = options;
    return JSON.stringify([runs, baseline, x, group, range]);
  };

  /** @type {import("../charts/board.js").CurveSource} */
  const source = {
    async fetch(plans, points) {
      const metrics = plans.map((plan) => plan.series[0].metric);
      const key = requestKey();
      const known = key === answeredKey ? (answer?.charts ?? []) : [];
      const missing = metrics.filter((metric) => !known.some((chart) => chart.metric === metric));
      const fetched = missing.length ? (await request(missing, pointsOf(points))).charts : [];
      if (key === answeredKey && answer) answer.charts.push(...fetched);
      const all = owners();
      return [...known, ...fetched]
        .filter(({ metric }) => metrics.includes(metric))
        .flatMap((chart) => chartCurves(chart, options.x, options.view, all));
    },
    async all(plan) {
      const { charts } = await request([plan.series[0].metric], FILE_POINTS);
      return charts.flatMap((chart) => chartCurves(chart, options.x, options.view, owners()));
    },
  };

  /** @param {Parameters<typeof setQuery>[0]} changes @param {boolean | string} push */
  function change(changes, push = true) {
    setQuery(changes, { push });
    void follow();
  }

  /** @param {[number, number] | null} range on the axis of the charts @param {boolean | string} push */
  function zoomTo(range, push) {
    if (range && !(range[1] > range[0])) return;
    if (range) shared.range = range;
    board.redraw(); // with the points already fetched
    const text = (/** @type {number} */ at) => String(Number((options.x === "wall" ? at / 1000 : at).toPrecision(12)));
    change(range ? { from: text(range[0]), to: text(range[1]) } : { from: null, to: null }, push);
  }
  const zoom = (/** @type {[number, number] | null} */ range) => zoomTo(range, true);
  /** Move the range: a sequence of such moves is one entry of the history. @param {number} shift @param {number} factor */
  const nudge = (shift, factor) => shared.range && zoomTo(moved(shared.range, shift, factor), "zoom");

  const board = createBoard({
    signal,
    shared,
    source,
    onZoom: zoom,
    onReset: () => zoom(null),
    onMode(mode, metric) {
      setQuery({ [mode]: toggleMetric(options.modes, mode, metric) });
      void follow();
    },
    onRemove: (plan) => change({ metric: options.metrics.filter((metric) => metric !== plan.series[0].metric) }),
  });
  const runList = createRunList({
    signal,
    onAdd: (ids) => change({ runs: [...options.runs, ...ids].join(",") }),
    onRemove: (id) => change({ runs: options.runs.filter((each) => each !== id).join(",") || null, from: null, to: null }),
    onBaseline: (id) => change({ baseline: id }),
  });
  const differences = createDifferences(colourOf);
  const controls = createControls({
    onAxis: (x) => change({ x: x === "step" ? null : x, from: null, to: null }),
    onView: (view) => change({ show: view }),
    onGroup: (group) => change({ group: group || null, show: group ? "groups" : null }),
    onMetric: (metric) => change({ metric: [...new Set([metric, ...options.metrics])] }),
    onSmooth(strength, settled) {
      shared.smoothing = strength;
      if (settled) setQuery({ smooth: strength ? String(strength) : null });
      board.redraw();
    },
    onReset: () => zoom(null),
  });
  const failure = h("p", { class: "compare-failure", role: "alert", hidden: true });
  const hint = empty(
    "Choose runs to compare",
    "Add runs above by part of their names, or select them in the list of runs and press c.",
    null,
    link("/", { class: "button" }, "All runs"),
  );
  const heading = h("h2", { class: "visually-hidden" }, "Charts");
  const charts = h("div", {}, controls.element, failure, heading, board.element);
  refill(
    root,
    h("header", { class: "page-head" }, h("h1", {}, "Compare")),
    runList.element,
    hint,
    differences.statistics,
    charts,
    differences.sentences,
    differences.element,
  );

  function plans() {
    const own = new Set(options.metrics);
    const charts = answer?.charts ?? [];
    return charts
      .filter(({ metric }) => !own.size || own.has(metric) || defaults.includes(metric))
      .sort((a, b) => Number(own.has(b.metric)) - Number(own.has(a.metric)))
      .map(({ title: name, metric, role }) => ({
        title: name,
        role,
        series: [{ metric, labels: {} }],
        added: own.has(metric),
      }));
  }
  /** @type {string[]} metrics of the usual roles */
  let defaults = [];

  /** Load the runs and their usual charts. */
  async function load() {
    const key = requestKey();
    const first = options.range === null ? [] : [...new Set([...options.metrics, ...defaults])];
    const loaded = await request(first, pointsOf(POINTS));
    if (first.length === 0) {
      defaults = loaded.charts.map(({ metric }) => metric);
      const others = options.metrics.filter((metric) => !defaults.includes(metric));
      if (others.length) loaded.charts.push(...(await request(others, pointsOf(POINTS))).charts);
    }
    if (key !== requestKey()) return false;
    answer = loaded;
    answeredKey = key;
    return true;
  }

  /** Update the page from the address. */
  async function follow() {
    options = readOptions(query());
    Object.assign(shared, { axis: chartAxis(options.x), smoothing: options.smoothing, modes: options.modes });
    shared.axisName = AXIS_NAMES[options.x] ?? options.x;
    const none = options.runs.length === 0;
    hint.hidden = !none;
    charts.hidden = none;
    differences.element.hidden = options.runs.length < 2;
    root.classList.toggle("compare-many", options.runs.length > FEW_RUNS && options.view !== "groups");
    if (none) {
      runList.show([], null);
      return runList.focus();
    }
    try {
      if (requestKey() !== answeredKey && !(await load())) return;
      failure.hidden = true;
    } catch (error) {
      if (signal.aborted) return;
      failure.hidden = false;
      refill(failure, icon("warning"), ` ${/** @type {Error} */ (error).message}`);
      return;
    }
    draw();
    await board.refresh();
    await loadDetails();
  }

  function draw() {
    if (!answer) return;
    const { runs } = answer;
    shared.range = chartRange(options) ?? fullRange(runs, options.baseline, options.x, options.view);
    runList.show(
      runs.map(({ id, name, project, axis }) => ({
        id,
        name,
        project,
        colour: colourOf(id),
        note: axis.reason ?? "",
      })),
      options.baseline,
    );
    title(`Compare ${runs.map(({ name }) => name).slice(0, 3).join(", ")}${runs.length > 3 ? " …" : ""}`);
    controls.show({ ...options, metricsAll: answer.metrics, groupKeys, commonX, formulas: axisNotes(answer) });
    board.set(plans());
  }

  /** Load sentences, statistics and the table; they need longer than the charts. */
  async function loadDetails() {
    const { runs, baseline, x } = options;
    const key = JSON.stringify([runs, baseline, x]);
    if (key === detailsKey || runs.length < 2) return;
    detailsKey = key;
    try {
      const [what, how] = await Promise.all([
        chartApi.compareDifferences(runs, baseline, signal),
        chartApi.compareStatistics(runs, baseline, x, signal),
      ]);
      if (key !== detailsKey) return;
      groupKeys = what.settings.map(({ name }) => name);
      commonX = what.common_x;
      differences.show(what);
      differences.showStatistics(how);
      draw();
    } catch (error) {
      detailsKey = "";
      if (!signal.aborted) console.warn("Holter: differences:", /** @type {Error} */ (error).message);
    }
  }

  const field = search({ label: "Search runs", onInput: () => {}, onKey: (event) => event.key === "Enter" && runList.focus() });
  field.addEventListener("focus", () => runList.focus(), { signal });
  keys.bind(signal, [
    { keys: "+, =", label: "Zoom in", run: () => void nudge(0, 0.5) },
    { keys: "-", label: "Zoom out", run: () => void nudge(0, 2) },
    { keys: "ArrowLeft", label: "Pan left", run: () => void nudge(-0.3, 1) },
    { keys: "ArrowRight", label: "Pan right", run: () => void nudge(0.3, 1) },
    { keys: "0", label: "Reset zoom", run: () => zoom(null) },
    { keys: "a", label: "Add a run", run: () => runList.focus() },
  ]);
  const refresh = throttled(signal, REFRESH, async () => {
    answeredKey = "";
    await follow();
  });
  listen(signal, { points: (event) => options.runs.includes(event.run_id) && refresh(), reconnected: refresh });
  document.addEventListener(
    "holter:theme",
    () => {
      shared.palette = palette();
      draw();
      void board.refresh();
    },
    { signal },
  );
  onQuery(() => void follow());
  setTimeout(() => void follow()); // after the page is attached
}

/** Why runs are missing from the axis, and how it is derived. @param {CompareCurves} answer */
function axisNotes({ runs }) {
  return runs.flatMap(({ name, axis }) =>
    axis.reason ? [`${name}: ${axis.reason}`] : axis.formula ? [`${name}: ${axis.name} = ${axis.formula}`] : [],
  );
}

/**
 * @param {{ onAxis: (x: string) => void, onView: (view: View) => void, onGroup: (group: string) => void,
 *   onMetric: (metric: string) => void, onSmooth: (strength: number, settled: boolean) => void, onReset: () => void }} events
 */
function createControls({ onAxis, onView, onGroup, onMetric, onSmooth, onReset }) {
  const axis = choice("x", X_AXES, onAxis);
  const group = choice("Group by", [], onGroup);
  const metric = choice("Chart", [], onMetric);
  const smoothing = smoothingControl(onSmooth);
  const views = h("div", { class: "segmented", role: "group", "aria-label": "Show" });
  const reset = h("button", { type: "button", class: "button", on: { click: onReset } }, icon("back"), "Reset zoom");
  const notes = h("p", { class: "quiet" });
  const unequal = h("span", {});
  const align = h("button", { type: "button", class: "text-button" });
  const advice = h("p", { class: "axis-advice", role: "status", hidden: true }, icon("warning"), unequal, align);
  let advised = "";
  align.addEventListener("click", () => onAxis(advised));
  const element = h(
    "div",
    {},
    advice,
    h("div", { class: "chart-tools" }, axis.element, views, group.element, smoothing.element, reset, h("span", { class: "spacer" }), metric.element),
    notes,
  );
  return {
    element,
    /** @param {ReturnType<typeof readOptions> & { metricsAll: string[], groupKeys: string[], commonX: string, formulas: string[] }} state */
    show(state) {
      axis.show(X_AXES, state.x);
      advised = state.commonX;
      advice.hidden = state.x !== "step" || advised === "step";
      unequal.textContent = `A step has different numbers of ${advised} in these runs.`;
      align.textContent = `Compare at equal ${advised}`;
      const keysOfGroups = [...new Set([...state.groupKeys, ...(state.group ? [state.group] : [])])];
      group.show([["", "Nothing"], ...keysOfGroups.map((key) => /** @type {[string, string]} */ ([key, key]))], state.group ?? "");
      group.element.hidden = keysOfGroups.length === 0;
      metric.show([["", "Add a chart"], ...state.metricsAll.map((name) => /** @type {[string, string]} */ ([name, name]))], "");
      smoothing.show(state.smoothing);
      reset.hidden = state.range === null;
      notes.hidden = state.formulas.length === 0;
      notes.textContent = state.formulas.slice(0, 3).join("; ") + (state.formulas.length > 3 ? ` and ${state.formulas.length - 3} more` : "");
      const names = /** @type {[View, string][]} */ ([
        ["curves", "Curves"],
        ["difference", "Difference"],
        ["ratio", "Ratio"],
        ...(state.group ? [["groups", "Groups"]] : []),
      ]);
      refill(
        views,
        names.map(([view, text]) =>
          h("button", { type: "button", "aria-pressed": String(view === state.view), on: { click: () => onView(view) } }, text),
        ),
      );
      views.hidden = state.runs.length < 2;
    },
  };
}

/** A labelled select. @param {string} label @param {[string, string][]} options @param {(value: string) => void} onChange */
function choice(label, options, onChange) {
  const name = label === "x" ? "X axis" : label;
  const select = /** @type {HTMLSelectElement} */ (h("select", { class: "select", "aria-label": name }));
  let shown = "";
  select.addEventListener("change", () => onChange(select.value));
  /** @param {[string, string][]} list @param {string} value */
  function show(list, value) {
    const state = JSON.stringify(list);
    if (state !== shown) refill(select, list.map(([name, text]) => h("option", { value: name }, text)));
    shown = state;
    select.value = value;
  }
  show(options, "");
  return { element: h("div", { class: "axis-choice" }, h("span", { "aria-hidden": "true" }, label), select), show };
}
