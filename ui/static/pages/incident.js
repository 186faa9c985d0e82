// @ts-check
/** The page of one incident: sentence, what to do, actions, charts, key facts, event, causes, evidence, history. */

import { actOn, allActions } from "../incidents/actions.js";
import { causeList } from "../incidents/causes.js";
import { createIncidentCharts } from "../incidents/charts.js";
import { commentForm, evidenceTable, inRun, keyFacts, onsetLine } from "../incidents/details.js";
import { eventTimeline, eventTitle } from "../incidents/event_timeline.js";
import { history } from "../incidents/history.js";
import { createNeighbours } from "../incidents/neighbours.js";
import { similarList } from "../incidents/similar.js";
import * as api from "../lib/api.js";
import { incidentStateText, severityMark } from "../lib/badges.js";
import { titleWithCauses } from "../lib/catalogue.js";
import { h, link, refill } from "../lib/dom.js";
import { step as stepText } from "../lib/format.js";
import { icon } from "../lib/icons.js";
import * as keys from "../lib/keyboard.js";
import { listen, throttled } from "../lib/live.js";
import { go } from "../lib/router.js";
import { listenToSwipes } from "../lib/swipe.js";

/** @typedef {import("../lib/api_types.js").IncidentView} IncidentView */
/** @typedef {import("../lib/api_types.js").IncidentContext} IncidentContext */

const REFRESH = 1500; // ms between requests while new points arrive
const WIDE = "(min-width: 701px)"; // evidence and history are unfolded from this width on

/** @type {import("../lib/router.js").Page} */
export async function show(root, context) {
  const { params, signal, search, title } = context;
  let [incident, explanation, mute] = await Promise.all([
    api.incident(params[0], signal),
    api.incidentContext(params[0], signal),
    api.muteOf(Number(params[0]), signal),
  ]);
  const runId = incident.run_id;
  const charts =
    runId === null ? null : createIncidentCharts(incident, explanation.event, await api.run(runId, signal), context);
  const head = h("header", { class: "incident-head" });
  const advice = h("section", { class: "card advice", "aria-label": "What to do" });
  const facts = h("dl", { class: "key-facts" });
  const event = card("Event");
  const causes = card("Probable causes");
  const similar = card("Similar incidents");
  const evidence = foldedCard("Evidence");
  const historyCard = foldedCard("History");
  const historyList = h("div", {});
  const form = commentForm(incident, changed);
  historyCard.body.append(historyList, form);
  let drawnAdvice = "";
  const neighbours = createNeighbours(incident.id, signal);
  const goTo = (/** @type {"previous" | "next"} */ which) => {
    const address = neighbours.address(which);
    if (address) go(address);
  };
  listenToSwipes(root, signal, (direction) => goTo(direction === "left" ? "next" : "previous"));

  /** @param {IncidentView} updated */
  function changed(updated) {
    incident = updated;
    draw();
    charts?.update(updated);
  }

  function draw() {
    title(`${titleWithCauses(incident)}${inRun(incident)}`);
    refill(head, ...headline(incident, neighbours.element));
    drawAdvice();
    refill(facts, keyFacts(incident).map(([name, value, more]) => fact(name, value, more)));
    causes.element.hidden = incident.causes.length === 0;
    refill(causes.body, causeList(incident.causes));
    refill(evidence.body, evidenceTable(incident));
    refill(historyList, history(incident));
    drawContext();
  }

  function drawAdvice() {
    const { state, acknowledged_at: acknowledged, assignee, advice: text } = incident;
    const content = JSON.stringify([state, acknowledged !== null, assignee, text, explanation.event, mute]);
    if (content === drawnAdvice) return;
    if (advice.querySelector(".popover-panel:not([hidden])")) return; // somebody is typing; drawn with the next change
    drawnAdvice = content;
    const focused = advice.contains(document.activeElement) ? document.activeElement?.textContent : null;
    refill(advice, ...whatToDo(incident, explanation), actionRow(incident, changed, { mute, onMute }));
    const buttons = /** @type {HTMLElement[]} */ ([...advice.querySelectorAll("button, a")]);
    if (focused) (buttons.find(({ textContent }) => textContent === focused) ?? buttons[0])?.focus();
  }

  /** @param {import("../lib/api_types.js").SilenceView | null} silence */
  function onMute(silence) {
    mute = silence;
    drawAdvice();
  }

  function drawContext() {
    const { event: story, changes, similar: others } = explanation;
    event.element.hidden = story.incidents.length < 2 && changes.length === 0 && story.rollback_step === null;
    const heading = story.incidents.length > 1 ? h("p", { class: "event-title" }, eventTitle(story)) : null;
    refill(event.body, heading, eventTimeline(story, changes, incident.id));
    similar.element.hidden = others.length === 0;
    refill(similar.body, similarList(others));
  }

  keys.bind(signal, [
    { keys: "j", label: "Next incident", run: () => goTo("next") },
    { keys: "k", label: "Previous incident", run: () => goTo("previous") },
  ]);
  bindKeys(signal, {
    incident: () => incident,
    changed,
    charts,
    focusComment() {
      historyCard.element.setAttribute("open", "");
      form.querySelector("textarea")?.focus();
    },
  });
  const refresh = throttled(signal, REFRESH, () => charts?.refresh());
  const refreshContext = throttled(signal, REFRESH, async () => {
    explanation = await api.incidentContext(incident.id, signal);
    drawAdvice();
    drawContext();
  });
  listen(signal, {
    incident(updated) {
      if (updated.id === incident.id) changed(updated);
      if (updated.run_id === runId) refreshContext();
    },
    points: (points) => points.run_id === runId && incident.state === "open" && refresh(),
    reconnected: async () => changed(await api.incident(incident.id, signal)),
  });
  const field = search({
    label: "Search incidents",
    onInput: () => {},
    onKey: (key) => key.key === "Enter" && go(`/incidents?state=all&q=${encodeURIComponent(field.value)}`),
  });
  const columns = h(
    "div",
    { class: "incident-columns" },
    h("div", { class: "incident-column" }, event.element, causes.element),
    h("div", { class: "incident-column" }, evidence.element, similar.element),
    h("div", { class: "incident-column" }, historyCard.element),
  );
  refill(root, head, advice, charts?.element, facts, columns);
  draw();
  if (location.hash === "#mute") openMute(advice);
  charts?.start();
}

/** Opens the choices for how long to mute, to which the links of messages lead. @param {HTMLElement} advice */
function openMute(advice) {
  const button = /** @type {HTMLElement | null} */ (advice.querySelector(".mute-incident button"));
  button?.scrollIntoView({ block: "center" });
  button?.click();
}

/** @param {string} heading */
function card(heading) {
  const body = h("div", {});
  return { body, element: h("section", { class: "card", hidden: true }, h("h2", {}, heading), body) };
}

/** A card that phones show folded. @param {string} heading */
function foldedCard(heading) {
  const body = h("div", {});
  const element = h(
    "details",
    { class: "card folded-card", open: matchMedia(WIDE).matches },
    h("summary", {}, h("h2", {}, heading)),
    body,
  );
  return { body, element };
}

/** @param {string} name @param {string} value @param {import("../lib/dom.js").Child} more */
const fact = (name, value, more) =>
  h(
    "div",
    {},
    h("dt", {}, name),
    h("dd", { class: "number" }, value),
    more ? h("dd", { class: "quiet" }, more) : null,
  );

/** The top of the page. @param {IncidentView} incident @param {HTMLElement} neighbours */
function headline(incident, neighbours) {
  const { run_id: id, run, acknowledged_by: by, assignee } = incident;
  const status = h(
    "span",
    { class: "quiet" },
    incidentStateText(incident),
    by ? ` by ${by}` : "",
    assignee ? ` · assigned to ${assignee}` : "",
  );
  const titleText = h(incident.state === "open" ? "b" : "span", {}, titleWithCauses(incident));
  return [
    h(
      "p",
      { class: "crumbs quiet row" },
      link("/incidents", {}, "Incidents"),
      id !== null && " / ",
      id !== null && link(`/runs/${encodeURIComponent(id)}`, {}, run),
      neighbours,
    ),
    h("p", { class: `row incident-${incident.state}` }, severityMark(incident.severity), titleText, status),
    h("h1", {}, incident.summary),
    h("p", { class: "quiet number" }, onsetLine(incident)),
  ];
}

/** The step to go back to, and the advice about the entire event. @param {IncidentView} incident @param {IncidentContext} context */
function whatToDo(incident, { event }) {
  const step = event.rollback_step;
  const others = event.incidents.length - 1;
  return [
    h("h2", {}, "What to do"),
    step === null
      ? null
      : h(
          "p",
          { class: "rollback" },
          icon("rollback"),
          h("span", {}, "Last safe step ", h("b", { class: "number" }, stepText(step))),
          others > 0 && h("span", { class: "quiet" }, "before all linked incidents and their causes"),
        ),
    h("p", {}, (event.is_open ? event.advice : incident.advice) || "No action needed."),
  ];
}

/** @param {IncidentView} incident @param {(incident: IncidentView) => void} changed @param {Parameters<typeof allActions>[2]} muting */
function actionRow(incident, changed, muting) {
  const address = incident.run_id === null ? null : `/runs/${encodeURIComponent(incident.run_id)}`;
  return h(
    "div",
    { class: "row actions" },
    ...allActions(incident, changed, muting),
    address && link(`${address}?incident=${incident.id}`, { class: "button" }, "Show in run", icon("arrow")),
  );
}

/**
 * @param {AbortSignal} signal
 * @param {{ incident: () => IncidentView, changed: (incident: IncidentView) => void,
 *   charts: ReturnType<typeof createIncidentCharts> | null, focusComment: () => void }} page
 */
function bindKeys(signal, { incident, changed, charts, focusComment }) {
  /** @param {Parameters<typeof actOn>[1]} verb */
  const act = (verb) => void actOn(incident(), verb, changed);
  const isOpen = () => incident().state !== "closed";
  keys.bind(signal, [
    {
      keys: "a",
      label: "Acknowledge or unacknowledge",
      run: () => isOpen() && act(incident().acknowledged_at === null ? "acknowledge" : "unacknowledge"),
    },
    { keys: "e", label: "Close or reopen", run: () => act(isOpen() ? "close" : "reopen") },
    { keys: "c", label: "Comment", run: focusComment },
  ]);
  if (charts === null) return;
  keys.bind(signal, [
    { keys: "p", label: "Mark as planned", run: () => isOpen() && act("planned") },
    { keys: "0", label: "Show the entire incident", run: charts.showIncident },
    { keys: "-", label: "Show the entire run", run: charts.showRun },
  ]);
}
