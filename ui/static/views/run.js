// @ts-check
/** One run: its strip, the numbers that matter, its curves and its incidents. */

import * as api from "../api.js";
import { createBoard, palette } from "../board.js";
import { milliseconds } from "../curves.js";
import { h, link, refill } from "../dom.js";
import { count } from "../format.js";
import { icon } from "../icons.js";
import { incidentList } from "../incident_list.js";
import * as keys from "../keys.js";
import { listen, throttled } from "../live.js";
import { numbers } from "../numbers.js";
import { createPicker, seriesTable } from "../picker.js";
import * as prefs from "../prefs.js";
import { fullRange, stepsOf } from "../range.js";
import { empty } from "../states.js";
import { stripControl } from "../strip.js";
import { severityMark, stateMark } from "../words.js";

/** @typedef {import("../types.js").RunDetail} RunDetail */
/** @typedef {import("../types.js").Incident} Incident */

const REFRESH = 700; // ms between refetches of what stands around the charts

/** @type {import("../router.js").View} */
export async function show(root, context) {
  const { params, signal, query, setQuery, onQuery, search, title } = context;
  const id = params[0];
  let [run, incidents] = await Promise.all([api.run(id, signal), api.incidentsOf(id, signal)]);
  /** @type {import("../types.js").SeriesSummary[]} */
  let series = [];

  /** @type {import("../panel.js").Shared} */
  const shared = {
    axis: "step",
    range: null,
    smoothing: 0,
    palette: palette(),
    attempts: run.strip.attempts,
    incidents,
    selected: null,
  };
  const board = createBoard({
    runId: id,
    signal,
    shared,
    steps: () => stepsOf(run.strip, shared.axis, zoomed() ? shared.range : null),
    onZoom: (range) => zoom(range),
    onReset: () => zoom(null),
    onRemove: (plan) => removeChart(plan.series[0].metric),
  });
  const strip = stripControl({ onPick: (steps) => zoom(steps && fromSteps(steps)) });
  const picker = createPicker({ onPick: (group) => addChart(group.metric), isShown });
  const head = h("header", { class: "run-headline" });
  const tiles = h("div", {});
  const tools = h("div", { class: "chart-tools" });
  const side = h("aside", { class: "side", "aria-label": "Incidents of this run" });
  const all = h("details", { class: "all-series" }, h("summary", {}, "All series"), h("div", {}));
  const body = h(
    "div",
    { class: "run-body" },
    h("div", { class: "run-main" }, tools, board.element, all),
    side,
  );

  const zoomed = () => query().has("from");

  /** Read the address into what the charts share. */
  function readQuery() {
    const now = query();
    shared.axis = now.get("axis") === "time" && hasClock() ? "time" : "step";
    shared.smoothing = Number(now.get("smooth") ?? prefs.get("smoothing", "0")) || 0;
    shared.selected = incidents.find((one) => String(one.id) === now.get("incident")) ?? null;
    const bounds = [now.get("from"), now.get("to")].map((text) => (text === null ? NaN : Number(text)));
    const given = bounds.every(Number.isFinite) && bounds[1] > bounds[0];
    const place = (/** @type {number} */ x) => (shared.axis === "time" ? milliseconds(x) : x);
    shared.range = given ? [place(bounds[0]), place(bounds[1])] : fullRange(run.strip, shared.axis);
  }

  const hasClock = () =>
    run.strip.attempts.length > 0 && run.strip.attempts.every((one) => one.first_time !== null);

  /** @param {[number, number]} steps @returns {[number, number]} */
  function fromSteps(steps) {
    if (shared.axis === "step") return steps;
    const whole = /** @type {[number, number]} */ (fullRange(run.strip, "time"));
    const [low, high] = /** @type {[number, number]} */ (fullRange(run.strip, "step"));
    const at = (/** @type {number} */ step) =>
      whole[0] + ((step - low) / (high - low || 1)) * (whole[1] - whole[0]);
    return [at(steps[0]), at(steps[1])];
  }

  /** @param {[number, number] | null} range on the axis; null: everything */
  function zoom(range) {
    if (range && !(range[1] > range[0])) return;
    const write = (/** @type {number} */ x) => String(Math.round(shared.axis === "time" ? x / 1000 : x));
    setQuery(range ? { from: write(range[0]), to: write(range[1]) } : { from: null, to: null }, {
      push: true,
    });
    update();
  }

  /** The address has changed: everything that depends on it follows. */
  function update() {
    readQuery();
    board.set(plans());
    drawTools();
    drawStrip();
    drawSide();
    void board.refresh();
  }

  /** @returns {(import("../types.js").ChartPlan & { added?: boolean })[]} */
  function plans() {
    const added = query()
      .getAll("chart")
      .filter((metric) => !run.charts.some((plan) => planned(plan, metric)));
    return [
      ...added.flatMap((metric) => {
        const own = series.filter((one) => one.metric === metric);
        return own.length
          ? [
              {
                title: metric,
                role: own[0].role,
                series: own.map(({ labels }) => ({ metric, labels })),
                added: true,
              },
            ]
          : [];
      }),
      ...run.charts,
    ];
  }

  /** @param {import("../types.js").ChartPlan} plan @param {string} metric */
  const planned = (plan, metric) => plan.series.some((one) => one.metric === metric);

  /** @param {string} metric */
  function isShown(metric) {
    return query().getAll("chart").includes(metric) || run.charts.some((plan) => planned(plan, metric));
  }

  /** @param {string} metric */
  function addChart(metric) {
    field.value = "";
    if (!isShown(metric)) setQuery({ chart: [metric, ...query().getAll("chart")] }, { push: true });
    update();
    const panel = board.panels().find((one) => planned(one.plan, metric));
    panel?.element.scrollIntoView({ block: "center" });
    panel?.element.classList.add("panel-found");
    drawAll();
  }

  /** @param {string} metric */
  function removeChart(metric) {
    setQuery(
      {
        chart: query()
          .getAll("chart")
          .filter((one) => one !== metric),
      },
      { push: true },
    );
    update();
    drawAll();
  }

  function drawHead() {
    title(run.name);
    refill(
      head,
      h(
        "div",
        {},
        h(
          "p",
          { class: "crumbs quiet" },
          link("/", {}, "Runs"),
          " / ",
          link(`/?project=${encodeURIComponent(run.project)}`, {}, run.project),
        ),
        h("h1", {}, run.name),
      ),
      severityMark(run.health, run.health === "ok" ? "Healthy" : count(run.open_incidents, "open incident")),
      stateMark(run.state),
    );
    refill(tiles, numbers(run, lossCurve));
  }

  /** @type {import("../types.js").ChartSeries | undefined} */
  let lossCurve;

  function drawStrip() {
    strip.show(run.strip, zoomed() ? stripRange() : null);
  }

  /** @returns {[number, number] | null} */
  function stripRange() {
    const { from, to } = stepsOf(run.strip, shared.axis, shared.range);
    return from === null || to === null ? null : [from, to];
  }

  function drawTools() {
    const strength = /** @type {HTMLInputElement} */ (
      h("input", { type: "range", min: 0, max: 0.99, step: 0.01, value: shared.smoothing, id: "smoothing" })
    );
    const value = h(
      "output",
      { class: "number", for: "smoothing" },
      shared.smoothing ? shared.smoothing.toFixed(2) : "off",
    );
    strength.addEventListener("input", () => {
      shared.smoothing = Number(strength.value);
      value.textContent = shared.smoothing ? shared.smoothing.toFixed(2) : "off";
      board.redraw();
    });
    strength.addEventListener("change", () => {
      prefs.set("smoothing", strength.value);
      setQuery({ smooth: shared.smoothing ? strength.value : null });
    });
    const axis = (/** @type {string} */ name, /** @type {string} */ text) =>
      h(
        "button",
        { type: "button", "aria-pressed": String(shared.axis === name), on: { click: () => setAxis(name) } },
        text,
      );
    refill(
      tools,
      h(
        "div",
        { class: "segmented", role: "group", "aria-label": "Axis" },
        axis("step", "Step"),
        hasClock() && axis("time", "Time"),
      ),
      h("label", { class: "smoothing" }, "Smoothing", strength, value),
      zoomed() &&
        h(
          "button",
          { type: "button", class: "button", on: { click: () => zoom(null) } },
          icon("back"),
          "Whole run",
        ),
      h("span", { class: "spacer" }),
      h(
        "button",
        { type: "button", class: "button", on: { click: () => field.focus() } },
        icon("plus"),
        "Add a chart",
      ),
    );
  }

  /** @param {string} name */
  function setAxis(name) {
    setQuery({ axis: name === "time" ? "time" : null, from: null, to: null }, { push: true });
    update();
  }

  function drawSide() {
    side.hidden = incidents.length === 0;
    body.classList.toggle("run-body-alone", incidents.length === 0);
    refill(
      side,
      h("h2", {}, "Incidents", h("span", { class: "quiet number" }, ` ${incidents.length}`)),
      incidentList(incidents, { selected: shared.selected, onSelect: select, onChange: changed }),
    );
  }

  /** Select an incident: its evidence is drawn, the charts go there. @param {Incident | null} incident */
  function select(incident) {
    if (!incident) {
      setQuery({ incident: null });
      return update();
    }
    const end = incident.end_step ?? run.last_step ?? incident.start_step;
    const room = Math.max(60, 0.6 * (end - incident.start_step));
    const around = fromSteps([Math.max(0, Math.floor(incident.start_step - room)), Math.ceil(end + room)]);
    setQuery({ incident: String(incident.id), axis: null, from: null, to: null }, { push: true });
    readQuery();
    zoom(shared.axis === "step" ? around : null);
  }

  /** @param {Incident} incident */
  function changed(incident) {
    incidents = incidents.some((one) => one.id === incident.id)
      ? incidents.map((one) => (one.id === incident.id ? incident : one))
      : [...incidents, incident];
    shared.incidents = incidents;
    drawSide();
    board.redraw();
  }

  function drawAll() {
    refill(
      /** @type {Element} */ (all.lastElementChild),
      seriesTable(series, (group) => addChart(group.metric), isShown),
    );
    refill(/** @type {Element} */ (all.firstElementChild), `All ${count(series.length, "series", "series")}`);
  }

  const refresh = throttled(signal, REFRESH, async () => {
    const was = run.series;
    run = await api.run(id, signal);
    shared.attempts = run.strip.attempts;
    readQuery();
    drawHead();
    drawStrip();
    if (run.series !== was) await loadSeries();
    board.set(plans());
  });

  async function loadSeries() {
    series = await api.seriesOf(id, signal);
    picker.offer(series);
    drawAll();
  }

  const field = search({
    label: "Find a metric",
    onInput: (text) => picker.type(text),
    onKey: (event) => picker.key(event),
  });
  field.addEventListener("blur", picker.hide, { signal });
  onQuery(update);
  document.addEventListener("holter:theme", () => ((shared.palette = palette()), board.redraw()), { signal });
  bindKeys(context, {
    zoom,
    range: () => shared.range,
    setAxis: () => setAxis(shared.axis === "step" ? "time" : "step"),
    toggleLog: () => board.panels()[0]?.toggleLog(),
  });
  listen(signal, {
    points: (news) => news.run_id === id && (refresh(), void board.refresh({ live: true })),
    run: (news) => news.run_id === id && refresh(),
    incident: (news) => news.run_id === id && (changed(news), refresh()),
    reconnected: () => (refresh(), void board.refresh({ live: true })),
  });

  await loadSeries();
  readQuery();
  refill(
    root,
    h("div", { class: "monitor" }, head, strip.element, tiles),
    picker.element,
    run.charts.length || series.length
      ? body
      : empty("No points yet", "The run is known, its first points are on their way."),
  );
  board.onData((data) => {
    const wanted = run.latest.loss?.metric;
    const curve = data.find((one) => one.metric === wanted && Object.keys(one.labels ?? {}).length === 0);
    if (curve && !zoomed()) lossCurve = curve;
    if (curve) drawHead();
  });
  drawHead();
  drawAll();
  update();
}

/** @param {import("../router.js").Context} context @param {{ zoom: (range: [number, number] | null) => void, range: () => [number, number] | null, setAxis: () => void, toggleLog: () => void }} actions */
function bindKeys({ signal }, { zoom, range, setAxis, toggleLog }) {
  const by = (/** @type {number} */ shift, /** @type {number} */ factor) => () => {
    const now = range();
    if (!now) return;
    const span = now[1] - now[0];
    const middle = (now[0] + now[1]) / 2 + shift * span;
    zoom([middle - (span * factor) / 2, middle + (span * factor) / 2]);
  };
  keys.bind(signal, [
    { keys: "+, =", label: "Zoom in", run: by(0, 0.5) },
    { keys: "-", label: "Zoom out", run: by(0, 2) },
    { keys: "ArrowLeft", label: "Earlier", run: by(-0.3, 1) },
    { keys: "ArrowRight", label: "Later", run: by(0.3, 1) },
    { keys: "0", label: "The whole run", run: () => zoom(null) },
    { keys: "x", label: "Steps or time", run: setAxis },
    { keys: "l", label: "First chart logarithmic or linear", run: toggleLog },
  ]);
}
