// @ts-check
/** The agents on the overview: one line for all, and a list of those with problems. */

import * as api from "../lib/api.js";
import { severityMark } from "../lib/badges.js";
import { h, isReadOnly, refill } from "../lib/dom.js";
import { count } from "../lib/format.js";

/** @typedef {import("../lib/api_types.js").AgentStatus} AgentStatus */

const REFRESH_INTERVAL = 30_000; // ms
const MAX_LISTED = 4;

/** "2 agents follow 40 files"; empty without active agents. Pure. @param {AgentStatus[]} agents */
export function agentSummary(agents) {
  const active = agents.filter((agent) => !agent.ended && agent.state !== "silent");
  if (active.length === 0) return "";
  const files = active.reduce((sum, agent) => sum + agent.files, 0);
  const pipes = active.filter((agent) => agent.kind === "pipe").length;
  const what = [files > 0 && count(files, "file"), pipes > 0 && count(pipes, "pipe")].filter(Boolean);
  const verb = active.length === 1 ? "follows" : "follow";
  return `${count(active.length, "agent")} ${what.length ? `${verb} ${what.join(" and ")}` : "waiting for files"}`;
}

/**
 * Elements with the agents that have problems and a summary of all, updated until the signal is aborted.
 * @param {AbortSignal} signal @returns {{ troubled: HTMLElement, all: HTMLElement }}
 */
export function watchAgents(signal) {
  const troubled = h("section", { class: "agents", "aria-label": "Agents with problems", hidden: true });
  const all = h("p", { class: "agents-all quiet" });

  async function refresh() {
    if (isReadOnly()) return; // a share link shows runs
    /** @type {AgentStatus[]} */
    let agents;
    try {
      agents = await api.agents(signal);
    } catch {
      return; // the list of runs reports that the server is unreachable
    }
    const withProblems = agents.filter((agent) => agent.trouble);
    troubled.hidden = withProblems.length === 0;
    refill(
      troubled,
      h("ul", {}, withProblems.slice(0, MAX_LISTED).map(row)),
      moreText(withProblems.length - MAX_LISTED),
    );
    refill(all, agentSummary(agents));
  }

  /** @param {AgentStatus} agent */
  function row(agent) {
    const gone = agent.state === "silent" || agent.ended;
    const forget = () => api.forgetAgent(agent.agent).then(refresh, refresh);
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

  const timer = setInterval(refresh, REFRESH_INTERVAL);
  signal.addEventListener("abort", () => clearInterval(timer));
  refresh();
  return { troubled, all };
}

/** @param {number} left */
const moreText = (left) =>
  left > 0 ? h("p", { class: "quiet" }, `and ${count(left, "more agent", "more agents")}`) : null;
