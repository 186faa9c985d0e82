// @ts-check
/** Alerts: channels with their last delivery, routing with its dry run, silences in force, undelivered messages, the log of what was sent. */

import { createDryRun } from "../alerts/dry_run.js";
import { routingParts } from "../alerts/routing.js";
import { createRoutingTrial } from "../alerts/routing_trial.js";
import { createSilenceForm } from "../alerts/silence_form.js";
import { channelState, notificationSentence, untilText } from "../alerts/words.js";
import * as api from "../lib/api.js";
import { severityMark } from "../lib/badges.js";
import { copyBlock, copyLine, h, link, refill } from "../lib/dom.js";
import { ago, clock, count, day } from "../lib/format.js";
import { icon } from "../lib/icons.js";
import { listen, throttled } from "../lib/live.js";
import { pageHead, section } from "../lib/page_parts.js";
import { toast } from "../lib/toasts.js";

/** @typedef {import("../lib/api_types.js").ChannelView} ChannelView */
/** @typedef {import("../lib/api_types.js").SilenceView} SilenceView */
/** @typedef {import("../lib/api_types.js").NotificationView} NotificationView */

const REFRESH = 5000; // ms
const PAGE = 50;

/** @type {import("../lib/router.js").Page} */
export async function show(root, { signal, title }) {
  let shown = PAGE;
  const [channels, routes, silences, failed, log] = [h("div", {}), h("div", {}), h("div", {}), h("div", {}), h("div", {})];
  const failedSection = section("Not delivered", failed);
  title("Alerts");

  async function load() {
    const [receivers, inForce, givenUp, sent] = await Promise.all([
      api.receivers(signal),
      api.silences(signal),
      api.notifications({ state: "given_up", limit: PAGE }, signal),
      api.notifications({ limit: shown }, signal),
    ]);
    refill(channels, receivers.channels.length ? channelList(receivers.channels) : noChannels());
    refill(silences, silenceList(inForce));
    failedSection.hidden = givenUp.notifications.length === 0;
    refill(failed, failedList(givenUp.notifications));
    refill(log, logList(sent.notifications), sent.next !== null && more());
  }

  const reload = () => load().catch(() => {});

  function more() {
    const click = () => {
      shown = Math.min(500, shown + PAGE);
      void reload();
    };
    return h("p", { class: "inbox-more" }, h("button", { type: "button", class: "button", on: { click } }, "Show more"));
  }

  /** @param {() => Promise<unknown>} request @param {string} done */
  async function act(request, done) {
    try {
      await request();
      toast(done);
    } catch (error) {
      toast(`Not changed: ${/** @type {Error} */ (error).message}`, { tone: "critical" });
    }
    await reload();
  }

  /** @param {ChannelView[]} all */
  const channelList = (all) => h("ul", { class: "alert-cards" }, all.map(channelItem));

  /** @param {ChannelView} channel */
  function channelItem(channel) {
    const { name, destination, minimum, waiting, muted, last_delivered_at: last, error } = channel;
    const result = h("p", { class: "channel-result", role: "status" });
    const test = h("button", { type: "button", class: "button", "aria-label": `Send a test message through ${name}` }, "Send test message");
    test.addEventListener("click", async () => {
      test.toggleAttribute("disabled", true);
      refill(result, "Sending …");
      try {
        const { delivered, text } = await api.testChannel(name);
        refill(result, severityMark(delivered ? "ok" : "critical", text));
      } catch (failure) {
        refill(result, severityMark("critical", /** @type {Error} */ (failure).message));
      }
      test.toggleAttribute("disabled", false);
    });
    const [tone, text] = channelState(channel);
    return h(
      "li",
      { class: "card alert-card" },
      h("div", { class: "alert-card-head" }, h("h3", {}, name), severityMark(tone, text)),
      h("p", { class: "quiet" }, destination, minimum ? `, ${minimum} and above` : ""),
      h(
        "p",
        {},
        last === null ? "Nothing was delivered yet" : "Last delivery ",
        last !== null && h("time", { title: clock(last), data: { ago: String(last) } }, ago(last)),
        waiting > 0 && ` · ${count(waiting, "message")} waiting`,
        muted > 0 && ` · ${muted} muted`,
      ),
      error && h("p", { class: "channel-error" }, error),
      h("div", { class: "row" }, test),
      result,
    );
  }

  /** @param {SilenceView[]} all */
  function silenceList(all) {
    if (all.length === 0) return h("p", { class: "quiet" }, "No silences: every incident that the routes select is sent.");
    return h("ul", { class: "planned-list" }, all.map(silenceItem));
  }

  /** @param {SilenceView} silence */
  function silenceItem({ id, matchers, comment, created_by: by, ends_at: end, state, muted }) {
    const remove = () => void act(() => api.endSilence(id), "Silence ended");
    return h(
      "li",
      { class: "planned-item" },
      h(
        "div",
        {},
        h("p", {}, matchers.map((matcher) => h("code", { class: "matcher" }, matcher))),
        h("p", {}, comment),
        h("p", { class: "quiet" }, `${untilText(state, end)} · by ${by}${muted ? ` · mutes ${count(muted, "open incident")}` : ""}`),
      ),
      h(
        "button",
        { type: "button", class: "icon-button", "aria-label": `End the silence: ${comment}`, on: { click: remove } },
        icon("close"),
      ),
    );
  }

  /** @param {NotificationView[]} all */
  function failedList(all) {
    const retryAll = () => void act(() => api.retryNotifications(), "Sent again");
    return [
      h("p", { class: "row" }, h("button", { type: "button", class: "button", on: { click: retryAll } }, "Send all again")),
      h(
        "ul",
        { class: "sent-log" },
        all.map((one) =>
          h(
            "li",
            {},
            sentLine(one),
            h(
              "button",
              {
                type: "button",
                class: "button",
                "aria-label": `Send again: ${one.title}`,
                on: { click: () => void act(() => api.retryNotification(one.id), "Sent again") },
              },
              "Send again",
            ),
          ),
        ),
      ),
    ];
  }

  const form = createSilenceForm((silence) => act(() => api.addSilence(silence), "Silence added"));
  refill(
    root,
    pageHead("Alerts", "Which messages go where, what is muted, and what was sent."),
    section("Channels", channels),
    failedSection,
    section("Sent log", log),
    section("Silences", silences, form),
    section("Routing", routes),
  );
  failedSection.hidden = true;
  const [routing, dryRun] = await Promise.all([api.routing(signal), createDryRun(signal), load()]);
  refill(routes, ...routingSection(routing, dryRun)); // settings, which change with the server only
  const refresh = throttled(signal, REFRESH, load);
  listen(signal, { incident: refresh, reconnected: refresh });
}

/** @param {import("../lib/api_types.js").RoutingView} routing @param {HTMLElement[]} dryRun */
const routingSection = (routing, dryRun) => [
  h(
    "p",
    { class: "quiet" },
    routing.default
      ? "There is no [alerting.route] in the settings: every channel gets what its own minimum allows."
      : `As in ${routing.file ?? "the settings"}. An incident goes down the tree to the first route below that matches.`,
  ),
  ...routingParts(routing),
  h("h3", {}, "Where would an incident go?"),
  ...dryRun,
  createRoutingTrial(routing),
];

function noChannels() {
  return h(
    "div",
    { class: "empty-inline" },
    h("p", {}, "No channels yet: nobody is notified. Add one to holter.toml and start the server again:"),
    copyBlock('[channels.oncall]\ntype = "slack"\nurl = "https://hooks.slack.com/services/..."\nminimum = "warning"'),
    h("p", {}, "Then test it:"),
    copyLine("holter alert test oncall"),
  );
}

/** The log by day. @param {NotificationView[]} all */
function logList(all) {
  if (all.length === 0) return h("p", { class: "quiet" }, "Nothing was sent yet.");
  const days = [...new Set(all.map(({ created_at: at }) => day(at)))];
  return days.map((name) =>
    h(
      "section",
      { "aria-label": name },
      h("h3", { class: "quiet" }, name),
      h("ul", { class: "sent-log" }, all.filter(({ created_at: at }) => day(at) === name).map((one) => h("li", {}, sentLine(one)))),
    ),
  );
}

/** @param {NotificationView} notification */
function sentLine(notification) {
  const { created_at: at, incident_id: id, title: text, error } = notification;
  return h(
    "div",
    {},
    h("p", {}, id === null ? text : link(`/incidents/${id}`, {}, text)),
    h(
      "p",
      { class: "quiet" },
      `${notificationSentence(notification)} · `,
      h("time", { title: clock(at), data: { ago: String(at) } }, ago(at)),
    ),
    error && h("p", { class: "channel-error" }, error),
  );
}
