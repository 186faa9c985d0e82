// @ts-check
/** One chart with what stands around it: title, values under the crosshair, incident labels, notes. */

import { createChart, scale } from "./chart.js";
import { nearest, nonfiniteRuns, placeLabels, yRange } from "./curves.js";
import { h, link, refill } from "./dom.js";
import { clock, count, number, reading, seriesName, step as stepText, unit } from "./format.js";
import { icon } from "./icons.js";
import { extentOf } from "./layout.js";
import * as prefs from "./prefs.js";
import { COLOURED, MARGIN, belongs, colours, labelText } from "./traces.js";
import { kindTitle, severityRank } from "./words.js";

/** @typedef {import("./types.js").ChartSeries} ChartSeries */
/** @typedef {import("./types.js").Incident} Incident */
/** @typedef {import("./traces.js").Picture} Picture */

/**
 * What all charts of a page share.
 * @typedef {{ axis: import("./curves.js").Axis, range: [number, number] | null, smoothing: number,
 *   palette: import("./traces.js").Palette, attempts: Picture["attempts"], incidents: Incident[],
 *   selected: Incident | null }} Shared
 * @typedef {{ onZoom: (range: [number, number]) => void, onReset: () => void,
 *   onHover: (x: number | null) => void, onRemove?: () => void }} Reader
 */

const NOTE_RUNS = 6; // stretches of NaN named under a chart; the rest is counted

/** @param {import("./types.js").ChartPlan & { added?: boolean }} plan @param {Shared} shared @param {Reader} reader */
export function createPanel(plan, shared, reader) {
  const prefName = `log.${plan.series[0]?.metric ?? plan.title}`;
  /** @type {ChartSeries[]} */
  let series = [];
  /** @type {Picture | null} */
  let picture = null;
  let log = prefs.get(prefName, "") === "log";
  let everything = false;
  /** @type {string | null} */
  let focus = null;

  const about = h("span", { class: "panel-sub quiet" });
  const readout = h("div", { class: "readout number" });
  const legend = h("ul", { class: "legend" });
  const lane = h("div", { class: "lane" });
  const plot = h("div", { class: "plot" });
  const hair = h("div", { class: "crosshair", hidden: true });
  const note = h("p", { class: "panel-note" });
  const outside = h("button", {
    type: "button",
    class: "chip",
    hidden: true,
    on: { click: () => ((everything = !everything), draw()) },
  });
  const logButton = h(
    "button",
    { type: "button", class: "tool", title: "Logarithmic or linear", on: { click: toggleLog } },
    "log",
  );
  const wideButton = h(
    "button",
    {
      type: "button",
      class: "tool",
      "aria-label": "Wide",
      title: "As wide as the page",
      on: { click: toggleWide },
    },
    icon("wide"),
  );
  const single = plan.series.length === 1;
  const subtitle =
    single && plan.series[0].metric.toLowerCase() !== plan.title.toLowerCase()
      ? seriesName(plan.series[0])
      : "";
  const measure = unit(plan.role, plan.series[0]?.metric ?? "");
  const element = h(
    "section",
    { class: "panel", "aria-label": `Chart of ${plan.title}` },
    h(
      "header",
      {},
      h("h3", {}, plan.title),
      about,
      readout,
      h(
        "div",
        { class: "panel-tools" },
        outside,
        logButton,
        wideButton,
        reader.onRemove &&
          h(
            "button",
            {
              type: "button",
              class: "tool",
              "aria-label": `Remove ${plan.title}`,
              on: { click: reader.onRemove },
            },
            icon("close"),
          ),
      ),
    ),
    legend,
    lane,
    h("div", { class: "plot-frame" }, plot, hair),
    note,
  );
  const chart = createChart(plot, { onZoom: reader.onZoom, onReset: reader.onReset, onFail: fail });

  plot.addEventListener("pointermove", (event) => {
    if (!picture?.range) return;
    const box = plot.getBoundingClientRect();
    const inside =
      event.clientX - box.left >= MARGIN.l - 4 && event.clientX - box.left <= box.width - MARGIN.r + 4;
    reader.onHover(inside ? scale(picture.range, box.width).toPlace(event.clientX - box.left) : null);
  });
  plot.addEventListener("pointerleave", () => reader.onHover(null));

  /** Say why there is nothing new here. @param {string} reason */
  function fail(reason) {
    note.hidden = false;
    refill(note, icon("warning"), h("span", {}, reason));
  }

  function toggleLog() {
    log = !log;
    prefs.set(prefName, log ? "log" : "linear");
    draw();
  }

  function toggleWide() {
    wideButton.setAttribute("aria-pressed", String(element.classList.toggle("panel-wide")));
    draw();
  }

  function draw() {
    const y = yRange(series, { log, whole: everything });
    const mine = shared.incidents.filter((incident) => plan.series.some((one) => belongs(incident, one)));
    const others = shared.incidents.filter(
      (incident) => !mine.includes(incident) && incident.severity !== "info",
    );
    const spoken = [shared.selected, ...mine.filter((incident) => incident.state === "open")].find(
      (incident) => incident && Object.keys(incident.labels ?? {}).length > 0,
    );
    const chosen = spoken && series.find((one) => belongs(spoken, one));
    picture = {
      series,
      log,
      y,
      role: plan.role,
      fontSize: 11 * Math.min(1.3, parseFloat(getComputedStyle(document.documentElement).fontSize) / 16),
      axis: shared.axis,
      range: shared.range,
      smoothing: shared.smoothing,
      palette: shared.palette,
      attempts: shared.attempts,
      incidents: mine,
      quietIncidents: others,
      selected: shared.selected,
      focus: focus ?? (chosen && series.length > COLOURED ? labelText(chosen) : null),
    };
    logButton.setAttribute("aria-pressed", String(log));
    showSubtitle();
    showOutside(y);
    showLegend();
    showLane(mine);
    showNote();
    hover(null);
    chart.draw(picture);
  }

  /** @param {ReturnType<typeof yRange>} y */
  function showOutside(y) {
    const parts = y ? [y.above && `↑${y.above}`, y.below && `↓${y.below}`].filter(Boolean) : [];
    const hidden = y?.hidden ? [`${count(y.hidden, "value")} ≤ 0 not drawn`] : [];
    outside.hidden = parts.length === 0 && hidden.length === 0 && !everything;
    outside.textContent = everything
      ? "fit"
      : [parts.length ? `${parts.join(" ")} outside` : "", ...hidden].filter(Boolean).join(", ");
    outside.title = everything ? "Fit the axis to most of the values" : "Show every value";
  }

  function showSubtitle() {
    const smoothed = shared.smoothing > 0 ? `smoothed ${shared.smoothing.toFixed(2)} (EMA)` : "";
    about.textContent = [subtitle || (single ? "" : measure), smoothed].filter(Boolean).join(" · ");
  }

  /** @param {{ x: number, text: (one: ChartSeries) => string } | null} [at] */
  function showLegend(at = null) {
    legend.hidden = series.length < 2;
    if (series.length < 2 || !picture) return;
    const paint = colours(picture);
    const shown =
      series.length > COLOURED ? series.filter((one) => labelText(one) === picture?.focus) : series;
    const items = shown.map((one) => {
      const name = shorten(one);
      return h(
        "li",
        {
          class: "legend-item",
          on: { pointerenter: () => setFocus(labelText(one)), pointerleave: () => setFocus(null) },
        },
        h("i", { style: { background: paint[series.indexOf(one)] } }),
        h("span", {}, name),
        at && h("b", { class: "number" }, at.text(one)),
      );
    });
    const whole = plan.series_count ?? series.length;
    const rest =
      whole > series.length
        ? [h("li", { class: "quiet" }, `${series.length} of ${count(whole, "series", "series")}`)]
        : series.length > COLOURED
          ? [h("li", { class: "quiet" }, `${count(series.length, "series", "series")} in grey`)]
          : [];
    refill(legend, items, rest);
  }

  /** A label says enough where all series share the metric. @param {ChartSeries} one */
  function shorten(one) {
    const same = series.every((other) => other.metric === one.metric);
    const inside = Object.entries(one.labels ?? {})
      .map(([name, value]) => `${name} ${value}`)
      .join(", ");
    return same && inside ? inside : seriesName(one);
  }

  /** @param {string | null} name */
  function setFocus(name) {
    if (series.length <= COLOURED) return;
    focus = name;
    draw();
  }

  /** @param {Incident[]} mine */
  function showLane(mine) {
    const now = picture;
    lane.hidden = mine.length === 0;
    if (!now?.range || mine.length === 0) return;
    const width = plot.clientWidth;
    const { toPixel } = scale(now.range, width);
    const seen = mine.filter((incident) => {
      const [from, to] = extentOf(now, incident);
      return (
        to >= /** @type {[number, number]} */ (now.range)[0] &&
        from <= /** @type {[number, number]} */ (now.range)[1]
      );
    });
    lane.hidden = false;
    const wanted = seen.map((incident) => ({
      x: Math.max(MARGIN.l, toPixel(extentOf(now, incident)[0])),
      width: 32 + 6.6 * kindTitle(incident.kind).length,
      weight:
        (incident.id === shared.selected?.id ? -10 : 0) +
        severityRank(incident.severity) +
        (incident.state === "open" ? 0 : 5),
    }));
    const placed = placeLabels(wanted, width);
    refill(
      lane,
      seen.map((incident, i) => laneLabel(incident, placed[i], incident.id === shared.selected?.id)),
    );
  }

  function showNote() {
    const runs = series.flatMap((one) =>
      nonfiniteRuns(one).map((run) => ({ ...run, name: series.length > 1 ? `${shorten(one)} ` : "" })),
    );
    const total = series.reduce((sum, one) => sum + one.nonfinite_count, 0);
    note.hidden = total === 0;
    if (total === 0) return;
    const listed = runs
      .slice(0, NOTE_RUNS)
      .map(
        ({ name, value, first, last }) =>
          `${name}${value === "NaN" ? "NaN" : number(value)} at ${first === last ? stepText(first) : `${stepText(first)} to ${stepText(last)}`}`,
      );
    const rest = runs.length > NOTE_RUNS ? `, and ${runs.length - NOTE_RUNS} more stretches` : "";
    refill(
      note,
      icon("critical"),
      h("span", {}, `${count(total, "value")} not finite: ${listed.join("; ")}${rest}`),
    );
  }

  /** Put the crosshair at a place on the axis and say the values there; null: the latest ones. @param {number | null} x */
  function hover(x) {
    if (!picture?.range || series.length === 0) {
      hair.hidden = true;
      return refill(readout, series.length === 0 && picture ? "no points here" : "");
    }
    const { axis, range } = picture;
    hair.hidden = x === null;
    const place = x ?? range[1];
    if (x !== null) hair.style.transform = `translateX(${scale(range, plot.clientWidth).toPixel(x)}px)`;
    const text = (/** @type {ChartSeries} */ one) => {
      const { live, ghost } = nearest(one, axis, place);
      return live ? reading(plan.role, live.value) : ghost ? reading(plan.role, ghost.value) : "–";
    };
    const { live, ghost } = nearest(series[0], axis, place);
    const hit = live ?? ghost;
    const where = hit
      ? [`step ${stepText(hit.step)}`, axis === "time" && x !== null ? clock(hit.time) : ""]
          .filter(Boolean)
          .join(", ")
      : "";
    const value =
      series.length === 1
        ? h("b", {}, text(series[0]), measure ? h("small", {}, ` ${measure}`) : null)
        : null;
    const branch =
      x !== null && ghost && series.length === 1
        ? h(
            "span",
            { class: "readout-ghost" },
            `attempt ${ghost.attempt}: ${reading(plan.role, ghost.value)}`,
          )
        : null;
    refill(readout, branch, h("span", { class: "quiet" }, where), value);
    if (series.length > 1) showLegend({ x: place, text });
  }

  return {
    element,
    plan,
    draw,
    hover,
    stale: true,
    visible: false,
    /** @param {ChartSeries[]} fresh */
    show(fresh) {
      series = fresh;
      draw();
    },
    fail,
    destroy: () => chart.destroy(),
    toggleLog,
  };
}

/** @param {Incident} incident @param {{ left: number, full: boolean }} place @param {boolean} chosen */
function laneLabel(incident, { left, full }, chosen) {
  const title = kindTitle(incident.kind);
  return link(
    `/incidents/${incident.id}`,
    {
      class: `lane-label severity-${incident.severity}${incident.state === "open" ? "" : " lane-past"}`,
      style: { left: `${left}px` },
      title: incident.summary,
      "aria-label": `${title} at step ${stepText(incident.start_step)}`,
      "aria-current": chosen ? "true" : null,
    },
    icon(incident.severity),
    full && h("span", {}, title),
  );
}
