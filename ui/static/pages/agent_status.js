// @ts-check
/** Agents elsewhere, in a few quiet words: only one in trouble comes forward. */

import * as api from "../lib/api.js";
import { h, refill } from "../lib/dom.js";
import { count } from "../lib/format.js";
import { severityMark } from "../lib/labels.js";

/** @typedef {import("../lib/types.js").Agent} Agent */

const LOOK = 30_000; // ms
const SHOWN = 4;

/** "2 agents follow 40 files", empty without any that live. Pure. @param {Agent[]} agents */
export function inWords(agents) {
  const living = agents.filter((one) => !one.ended && one.state !== "silent");
  if (living.length === 0) return "";
  const files = living.reduce((sum, one) => sum + one.files, 0);
  const pipes = living.filter((one) => one.kind === "pipe").length;
  const what = [files > 0 && count(files, "file"), pipes > 0 && count(pipes, "pipe")].filter(Boolean);
  const verb = living.length === 1 ? "follows" : "follow";
  return `${count(living.length, "agent")} ${what.length ? `${verb} ${what.join(" and ")}` : "waiting for files"}`;
}

/**
 * Those in trouble, and a line about all, kept up to date until the page is left.
 * @param {AbortSignal} signal @returns {{ troubled: HTMLElement, all: HTMLElement }}
 */
export function watchAgents(signal) {
  const troubled = h("section", { class: "agents", "aria-label": "Agents in trouble", hidden: true });
  const all = h("p", { class: "agents-all quiet" });

  async function look() {
    /** @type {Agent[]} */
    let agents;
    try {
      agents = await api.agents(signal);
    } catch {
      return; // the runs say already that the server is away
    }
    const trouble = agents.filter((one) => one.trouble);
    troubled.hidden = trouble.length === 0;
    refill(troubled, h("ul", {}, trouble.slice(0, SHOWN).map(row)), more(trouble.length - SHOWN));
    refill(all, inWords(agents));
  }

  /** @param {Agent} agent */
  function row(agent) {
    const gone = agent.state === "silent" || agent.ended;
    const forget = () => api.forgetAgent(agent.agent).then(look, look);
    const label = `Forget the agent on ${agent.host}`;
    return h(
      "li",
      { title: agent.paths.join("\n") },
      severityMark("warning", agent.trouble.replace(/^agent/, "Agent")),
      gone &&
        h(
          "button",
          { type: "button", class: "button", "aria-label": label, on: { click: forget } },
          "Forget",
        ),
    );
  }

  const timer = setInterval(look, LOOK);
  signal.addEventListener("abort", () => clearInterval(timer));
  look();
  return { troubled, all };
}

/** @param {number} left */
const more = (left) =>
  left > 0 ? h("p", { class: "quiet" }, `and ${count(left, "more agent", "more agents")}`) : null;
