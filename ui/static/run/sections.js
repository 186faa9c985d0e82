// @ts-check
/** The charts of a run besides the first ones: in sections that open, and found by words. */

import { h, refill } from "../lib/dom.js";
import { count } from "../lib/format.js";

/** @typedef {import("../charts/panel.js").ChartPlan} ChartPlan */
/** @typedef {import("../lib/api_types.js").MetricChart} MetricChart */

const PAGE = 12; // charts that a section shows at first, and with each "more"
const FEW = 8; // charts in all sections together, which are then open

/** The plan of a metric's chart. Pure. @param {MetricChart} chart @param {string} [section] @returns {ChartPlan} */
export const metricPlan = ({ metric, role, series, series_count }, section) => ({
  title: metric,
  role,
  series: /** @type {ChartPlan["series"]} */ (series),
  series_count,
  section,
});

/** The charts in sections, in their order. Pure. @param {MetricChart[]} charts @returns {Map<string, MetricChart[]>} */
export function bySection(charts) {
  /** @type {Map<string, MetricChart[]>} */
  const sections = new Map();
  for (const chart of charts) sections.set(chart.section, [...(sections.get(chart.section) ?? []), chart]);
  return sections;
}

/**
 * The words of a search that are in a metric's name or title, and the others. Pure.
 * @param {string} name @param {string[]} words
 */
function missingWords(name, words) {
  const lower = name.toLowerCase();
  return words.filter((word) => !lower.includes(word));
}

/** Charts whose metric contains every word. Pure. @param {MetricChart[]} charts @param {string} text */
export function findCharts(charts, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return charts.filter(({ metric, section }) => missingWords(`${metric} ${section}`, words).length === 0);
}

/**
 * A label in a search: "rank 37" and "rank=37" are the label rank of value 37; the rest are words of a name. Pure.
 * @param {string} text @returns {{ name: string, value: string, rest: string } | null}
 */
export function labelInSearch(text) {
  const found = /(?:^|\s)([\p{L}_][\p{L}\p{N}_]*)(?:\s*=\s*|\s+)([\p{N}][^\s]*|[\p{L}_]+[\p{N}]+[^\s]*)(?=\s|$)/u.exec(text);
  if (!found) return null;
  return { name: found[1], value: found[2], rest: text.replace(found[0], " ").trim() };
}

/** @param {{ onChange: () => void, stored: (title: string) => boolean | null, store: (title: string, open: boolean) => void }} options */
export function createSections({ onChange, stored, store }) {
  const element = h("div", { class: "chart-sections" });
  /** @type {Map<string, number>} charts shown, by section */
  const limits = new Map();
  /** @type {Map<string, { root: HTMLElement, board: HTMLElement, button: HTMLElement, more: HTMLElement }>} */
  const parts = new Map();
  /** @type {{ title: string, charts: MetricChart[], open: boolean }[]} */
  let sections = [];

  /** @param {string} title */
  function create(title) {
    const board = h("div", { class: "board" });
    const button = h("button", { type: "button", class: "section-toggle", on: { click: () => toggle(title) } });
    const more = h("button", { type: "button", class: "button", hidden: true, on: { click: () => showMore(title) } });
    const root = h("section", { class: "chart-section", "aria-label": title }, h("h2", {}, button), board, more);
    return { root, board, button, more };
  }

  /** @param {string} title */
  function toggle(title) {
    const section = sections.find((each) => each.title === title);
    store(title, !section?.open);
    onChange();
  }

  /** @param {string} title */
  function showMore(title) {
    limits.set(title, (limits.get(title) ?? PAGE) + PAGE);
    onChange();
  }

  return {
    element,
    /** The plans of the charts in open sections. @param {MetricChart[]} charts all that are in no other place @param {number} [before] charts before the sections @returns {ChartPlan[]} */
    plans(charts, before = FEW) {
      sections = [...bySection(charts)].map(([title, list], i) => ({
        title,
        charts: list,
        open: stored(title) ?? (charts.length <= FEW || (i === 0 && before <= 2)),
      }));
      return sections.flatMap(({ title, charts: list, open }) =>
        open ? list.slice(0, limits.get(title) ?? PAGE).map((chart) => metricPlan(chart, title)) : [],
      );
    },
    /** Put charts into their sections. @param {{ plan: ChartPlan, element: HTMLElement }[]} charts */
    arrange(charts) {
      const roots = sections.map(({ title, charts: all, open }) => {
        const part = parts.get(title) ?? create(title);
        parts.set(title, part);
        const own = charts.filter(({ plan }) => plan.section === title).map((chart) => chart.element);
        part.button.setAttribute("aria-expanded", String(open));
        refill(part.button, title, h("span", { class: "quiet number" }, ` ${all.length}`));
        part.board.hidden = !open;
        if (own.length !== part.board.children.length || own.some((child, i) => part.board.children[i] !== child))
          refill(part.board, own);
        const rest = open ? all.length - own.length : 0;
        part.more.hidden = rest <= 0;
        part.more.textContent = `Show ${Math.min(PAGE, rest)} of ${count(rest, "other chart")}`;
        return part.root;
      });
      if (roots.length !== element.children.length || roots.some((child, i) => element.children[i] !== child))
        refill(element, roots);
    },
  };
}
