// @ts-check
/** The charts of a run: one range, one crosshair, one request for whatever is in view. */

import * as api from "./api.js";
import { h, refill } from "./dom.js";
import { throttled } from "./live.js";
import { createPanel } from "./panel.js";
import { COLOURED, belongs, sameSeries } from "./traces.js";

/** @typedef {import("./panel.js").Shared} Shared */
/** @typedef {import("./types.js").ChartPlan & { added?: boolean }} Plan */
/** @typedef {ReturnType<typeof createPanel>} Panel */

const REFRESH = 500; // ms between refetches while news comes in
const POINTS_PER_PIXEL = 1;
const TOGETHER = 50; // series of one chart that are asked for in one go

/**
 * What to ask for: metrics of few series together in one request; of a metric with very many series (a
 * thousand ranks) only the first, and the one that the chosen incident speaks of. Pure.
 * @param {Plan[]} plans @param {import("./types.js").Incident | null} selected
 * @returns {{ metrics: string[], labels?: object }[]}
 */
export function requests(plans, selected) {
  const large = plans.filter((plan) => (plan.series_count ?? plan.series.length) > TOGETHER);
  const together = [
    ...new Set(
      plans.filter((plan) => !large.includes(plan)).flatMap((plan) => plan.series.map((one) => one.metric)),
    ),
  ];
  const apart = large.flatMap((plan) => {
    const first = plan.series.slice(0, COLOURED).map(({ metric, labels }) => ({ metrics: [metric], labels }));
    const spoken =
      selected && plan.series[0].metric === selected.metric && Object.keys(selected.labels).length > 0;
    const known = spoken && plan.series.slice(0, COLOURED).some((one) => belongs(selected, one));
    return spoken && !known ? [...first, { metrics: [selected.metric], labels: selected.labels }] : first;
  });
  return [...(together.length ? [{ metrics: together }] : []), ...apart];
}

/** The colours of tokens.css as they stand now. @returns {Record<string, string>} */
export function palette() {
  const style = getComputedStyle(document.documentElement);
  const names = [
    "ink",
    "ink-quiet",
    "paper-raised",
    "line-strong",
    "grid",
    "accent",
    "ghost",
    "series-rest",
    "mark-info",
    "mark-warning",
    "mark-critical",
  ];
  for (let i = 1; i <= 8; i++) names.push(`series-${i}`);
  return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

/**
 * @param {{ runId: string, signal: AbortSignal, shared: Shared, steps: () => { from: number | null, to: number | null },
 *   onZoom: (range: [number, number]) => void, onReset: () => void, onRemove?: (plan: Plan) => void }} options
 *   `steps` says which steps the shared range covers
 */
export function createBoard({ runId, signal, shared, steps, onZoom, onReset, onRemove }) {
  /** @type {Map<string, Panel>} */
  const panels = new Map();
  const element = h("div", { class: "board" });
  /** @type {(series: import("./types.js").ChartSeries[]) => void} */
  let heard = () => {};
  let generation = 0;
  let frame = 0;

  const observer = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        const panel = [...panels.values()].find((one) => one.element === entry.target);
        if (panel) panel.visible = entry.isIntersecting;
      }
      void load();
    },
    { rootMargin: "200px" },
  );
  const sizes = new ResizeObserver(() => redraw());
  sizes.observe(element);
  signal.addEventListener(
    "abort",
    () => {
      observer.disconnect();
      sizes.disconnect();
      panels.forEach((panel) => panel.destroy());
    },
    { once: true },
  );

  /** Redraw what is in view with the points at hand. */
  function redraw() {
    for (const panel of panels.values()) if (panel.visible && !panel.stale) panel.draw();
  }

  /** Fetch what is in view and out of date, in one request. */
  async function load() {
    const due = [...panels.values()].filter((panel) => panel.visible && panel.stale);
    if (due.length === 0 || signal.aborted) return;
    const turn = generation;
    const width = Math.max(...due.map((panel) => panel.element.clientWidth));
    const range = { ...steps(), points: Math.max(200, POINTS_PER_PIXEL * width) };
    const plans = due.map((panel) => panel.plan);
    /** @type {import("./types.js").ChartData[]} */
    let answers = [];
    try {
      const asked = requests(plans, shared.selected);
      answers = await Promise.all(
        asked.map((one) => api.data(runId, one.metrics, { ...range, labels: one.labels }, signal)),
      );
    } catch (error) {
      if (!signal.aborted) due.forEach((panel) => panel.fail(/** @type {Error} */ (error).message));
      return;
    }
    if (turn !== generation) return; // the reader went elsewhere meanwhile, and that was asked for too
    const series = answers.flatMap((answer) => answer.series);
    heard(series);
    for (const panel of due) {
      panel.stale = false;
      const focus = shared.selected;
      panel.show(
        series.filter(
          (one) =>
            panel.plan.series.some((wanted) => sameSeries(one, wanted)) ||
            (focus && panel.plan.series[0]?.metric === one.metric && belongs(focus, one)),
        ),
      );
    }
  }

  const follow = throttled(signal, REFRESH, load);

  /** @param {number | null} x */
  function hover(x) {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => {
      for (const panel of panels.values()) if (panel.visible) panel.hover(x);
    });
  }

  return {
    element,
    redraw,
    /** Hear every answer. @param {typeof heard} listener */
    onData: (listener) => void (heard = listener),
    panels: () => [...panels.values()],
    /** Everything is out of date: draw what there is in the new range, then fetch. @param {{ live?: boolean }} [options] */
    async refresh({ live = false } = {}) {
      panels.forEach((panel) => (panel.stale = true));
      if (live) return follow();
      generation++;
      for (const panel of panels.values()) if (panel.visible) panel.draw();
      await load();
    },
    /** @param {Plan[]} plans in the order they are shown */
    set(plans) {
      const wanted = new Map(plans.map((plan) => [planKey(plan), plan]));
      for (const [key, panel] of panels) {
        if (wanted.has(key)) continue;
        observer.unobserve(panel.element);
        panel.destroy();
        panels.delete(key);
      }
      for (const [key, plan] of wanted) {
        if (panels.has(key)) continue;
        const remove = plan.added && onRemove ? () => onRemove(plan) : undefined;
        const panel = createPanel(plan, shared, { onZoom, onReset, onHover: hover, onRemove: remove });
        panels.set(key, panel);
        observer.observe(panel.element);
      }
      const ordered = [...wanted.keys()].map((key) => /** @type {Panel} */ (panels.get(key)).element);
      if (ordered.some((one, i) => element.children[i] !== one) || element.children.length !== ordered.length)
        refill(element, ordered);
    },
  };
}

/** @param {Plan} plan */
export const planKey = (plan) => `${plan.title} ${JSON.stringify(plan.series)}`;
