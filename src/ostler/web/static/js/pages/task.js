/** The page of one task: status, timeline and transcript. */

import { get, taskPath } from "../api.js";
import { h, replace } from "../dom.js";
import { follow } from "../feed.js";
import { bind } from "../keys.js";
import { keepInAddress } from "../router.js";
import { drawActions } from "../task/actions.js";
import { changesTab } from "../task/changes.js";
import { eventsTab } from "../task/events.js";
import { filesTab } from "../task/files.js";
import { gatesTab } from "../task/gates.js";
import { TaskHeader } from "../task/header.js";
import { promptsTab } from "../task/prompts.js";
import { replayTab } from "../task/replay_tab.js";
import { requestTab } from "../task/request.js";
import { spendingTab } from "../task/spending.js";
import { readAnchor } from "../task/log_entry.js";
import { Tabs } from "../task/tabs.js";
import { TimelineView } from "../task/timeline.js";
import { TranscriptPane } from "../task/transcript_pane.js";
import { WaitingBox } from "../task/waiting.js";
import { titled } from "../title.js";
import { refused } from "../toast.js";

const SECOND = 1000;
const LONGEST_SILENCE = 10 * SECOND; // a running task is reloaded after this time without an event
const MS_PER_SPAN = 2; // a timeline of thousands of tools is reloaded less often

/** Shows the task that `params.id` names, until `signal` is aborted. */
export async function show(root, params, signal) {
  const task = await get(taskPath(params.id), {}, signal);
  const page = new TaskPage(task, signal);
  replace(root, page.node);
  await page.begin(params.query?.get("tab"));
}

class TaskPage {
  constructor(task, signal) {
    Object.assign(this, {
      id: task.id,
      task,
      signal,
      stale: false,
      asking: false,
      timelineDue: 0,
      askedAt: Date.now(),
    });
    this.header = new TaskHeader();
    this.waiting = new WaitingBox(task.id, {
      show: (tab) => this.#showTab(tab),
      done: (now) => this.#take(now),
      signal,
    });
    this.timelineView = new TimelineView({
      attempt: (number) => this.#goTo(number),
      tool: (number, at) => this.#goTo(number, { at }),
      gate: () => this.#showTab("gates"),
    });
    this.transcript = new TranscriptPane(task.id, signal, (number) => this.timelineView.choose(number));
    this.parts = this.#tabs();
    this.tabs = new Tabs(this.parts, { signal, changed: (id) => keepTab(id) });
    this.node = h(
      "div",
      { class: "page task-page" },
      this.header.node,
      this.waiting.node,
      this.timelineView.node,
      this.tabs.node,
    );
  }

  /** Fills the page, then keeps it current. */
  async begin(tab) {
    const anchor = readAnchor(location.hash);
    this.transcript.waits = Boolean(anchor);
    this.#take(this.task);
    await this.#askTimeline();
    this.tabs.show(anchor ? "transcript" : tab);
    if (anchor) await this.#goTo(anchor.number, { offset: anchor.offset });
    this.#keepCurrent();
    this.#keys();
  }

  #tabs() {
    const { id, signal } = this;
    const context = () => ({ task: this.task, timeline: this.timeline, timelineView: this.timelineView });
    return [
      { id: "transcript", name: "Transcript", node: this.transcript.node, open: () => this.transcript.shown?.seen() },
      { id: "changes", name: "Changes", ...changesTab(id, signal) },
      { id: "gates", name: "Gates", ...gatesTab(id, signal) },
      { id: "prompts", name: "Prompts", ...promptsTab(id, signal) },
      { id: "files", name: "Files", ...filesTab(id, signal) },
      { id: "spending", name: "Cost", ...spendingTab() },
      { id: "request", name: "Request", ...requestTab(id, signal) },
      { id: "events", name: "Events", ...eventsTab(id, signal) },
      { id: "replay", name: "Replay", ...replayTab(id, context, signal) },
    ];
  }

  /** Updates the page with the task. */
  #take(task) {
    this.task = task;
    titled(task.title || task.id);
    this.header.update(task);
    drawActions(this.header.actions, task, (now) => this.#take(now));
    this.waiting.update(task);
    this.transcript.update(task)?.catch(refused);
    for (const part of this.parts) part.update?.(task);
  }

  get #isLive() {
    return this.task.status === "in_progress";
  }

  async #goTo(number, place = {}) {
    if (this.tabs.current?.id === "replay" && place.at) return this.parts.at(-1).seek(place.at);
    this.tabs.show("transcript");
    await this.transcript.choose(number, place).catch(refused);
    return this.transcript.node.scrollIntoView({ block: "nearest" });
  }

  #showTab(id) {
    this.tabs.show(id);
    this.tabs.node.scrollIntoView({ block: "start" });
  }

  /** Reloads the task after an event, at most once a second. */
  #keepCurrent() {
    this.stale = true; // events during the first load were missed
    follow((event) => this.#receive(event), this.signal);
    const timer = setInterval(() => this.#tick(), SECOND);
    this.signal.addEventListener("abort", () => clearInterval(timer), { once: true });
  }

  #receive(event) {
    if (event.task_id !== this.id) return;
    this.stale = true;
    this.parts.find((part) => part.id === "events").receive(event);
  }

  async #tick() {
    if (document.hidden || this.asking) return;
    this.asking = true;
    try {
      if (this.#isLive && Date.now() - this.askedAt > LONGEST_SILENCE) this.stale = true;
      const { stale } = this;
      if (this.stale) await this.#ask();
      else if (this.#isLive) this.timelineView.draw();
      if (this.#isLive) this.header.draw();
      if ((stale || this.transcript.isOpen) && this.tabs.current?.id === "transcript") await this.transcript.tick();
    } catch (error) {
      if (error.code !== "NETWORK") refused(error); // the top bar shows the lost connection
    } finally {
      this.asking = false;
    }
  }

  async #ask() {
    Object.assign(this, { stale: false, askedAt: Date.now() });
    const before = this.task.status;
    this.#take(await get(taskPath(this.id), {}, this.signal));
    if (Date.now() >= this.timelineDue || this.task.status !== before) await this.#askTimeline();
    else this.stale = true;
  }

  async #askTimeline() {
    this.timeline = await get(taskPath(this.id, "timeline"), {}, this.signal);
    this.timelineDue = Date.now() + this.timeline.spans.length * MS_PER_SPAN;
    this.timelineView.update(this.timeline);
  }

  #keys() {
    const group = "This task";
    const { signal } = this;
    bind("+", "Zoom into the timeline", () => this.timelineView.zoom(0.5), { group, signal });
    bind("-", "Zoom out", () => this.timelineView.zoom(2), { group, signal });
    bind("0", "Show all of the timeline", () => this.timelineView.fit(), { group, signal });
    bind("/", "Find in the transcript", () => this.#find(), { group, signal });
    bind("f", "Follow the transcript", () => this.transcript.toggleFollow(), { group, signal });
  }

  #find() {
    this.tabs.show("transcript");
    this.transcript.find.focus();
  }
}

/** The tab is kept in the address without losing the anchor. */
function keepTab(id) {
  const { hash } = location;
  keepInAddress({ tab: id === "transcript" ? "" : id });
  if (hash && id === "transcript") history.replaceState(history.state, "", location.pathname + location.search + hash);
}
