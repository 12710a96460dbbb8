/** The page of one task: its work, and beside it the rail with the decision. */

import { get, taskPath } from "../api.js";
import { h, replace } from "../dom.js";
import { follow } from "../feed.js";
import { bind } from "../keys.js";
import { keepInAddress } from "../router.js";
import { changesTab } from "../task/changes.js";
import { eventsTab } from "../task/events.js";
import { filesTab } from "../task/files.js";
import { gatesTab } from "../task/gates.js";
import { TaskHeader } from "../task/header.js";
import { promptsTab } from "../task/prompts.js";
import { TaskDecision } from "../task/rail/decision.js";
import { TaskRail } from "../task/rail/rail.js";
import { replayTab } from "../task/replay_tab.js";
import { requestTab } from "../task/request.js";
import { spendingTab } from "../task/spending.js";
import { readAnchor } from "../task/log_entry.js";
import { Tabs } from "../task/tabs.js";
import { TimelineView } from "../task/timeline.js";
import { TranscriptPane } from "../task/transcript_pane.js";
import { titled } from "../title.js";
import { refused } from "../toast.js";

const SECOND = 1000;
const LONGEST_SILENCE = 10 * SECOND; // a running task is reloaded after this time without an event
const NARROW = "(max-width: 760px)";
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
    Object.assign(this, { id: task.id, task, signal, review: null, reviewOf: "", stale: false, asking: false, timelineDue: 0, askedAt: Date.now() });
    this.header = new TaskHeader(task.id, (now) => this.#take(now));
    const decision = new TaskDecision(task.id, { done: (now) => this.#decided(now), open: () => this.#openRail(true), signal });
    this.rail = new TaskRail(task.id, decision, { go: (number, offset, text) => this.#goToPlace(number, offset, text), signal });
    this.railButton = h("button", { class: "btn quiet rail-open", type: "button", "aria-label": "Question, summary, gates and details", "aria-expanded": "false", on: { click: () => this.#openRail() } },
      h("span", { "aria-hidden": "true" }, "▲"));
    decision.node.prepend(this.railButton);
    this.timelineView = new TimelineView({
      attempt: (number) => this.#goTo(number),
      tool: (number, at) => this.#goTo(number, { at }),
      gate: () => this.tabs.show("gates"),
    }, { strip: true });
    this.transcript = new TranscriptPane(task.id, signal, {
      changed: (number) => this.timelineView.choose(number),
      search: { search: (text) => this.#search(text), step: (by) => this.rail.found.step(by), close: () => this.#search("") },
    });
    this.parts = this.#tabs();
    this.tabs = new Tabs(this.parts, { signal, changed: (id) => keepTab(id) });
    this.shade = h("div", { class: "task-shade", on: { click: () => this.#openRail(false) } });
    this.node = h("div", { class: "task-page" }, this.header.node,
      h("div", { class: "task-body" },
        h("section", { class: "task-work", "aria-label": "Work" }, this.timelineView.node, this.tabs.node),
        this.shade, this.rail.node));
  }

  /** Fills the page, then keeps it current. */
  async begin(tab) {
    const anchor = readAnchor(location.hash);
    this.#keys();
    this.transcript.waits = Boolean(anchor);
    this.#take(this.task);
    await Promise.all([this.#askTimeline(), this.rail.refresh(this.#isLive, true)]);
    this.tabs.show(anchor ? "transcript" : tab);
    if (anchor) await this.#goTo(anchor.number, { offset: anchor.offset });
    this.#keepCurrent();
  }

  #tabs() {
    const { id, signal } = this;
    const context = () => ({ task: this.task, timeline: this.timeline, timelineView: this.timelineView });
    const changes = { id: "changes", name: this.task.output_path ? "Document" : "Changes", ...changesTab(id, () => this.task, signal) };
    return [
      { id: "transcript", name: "Transcript", node: this.transcript.node, open: () => this.transcript.shown?.seen() },
      changes,
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
    this.rail.update(task, this.review);
    this.transcript.update(task)?.catch(refused);
    for (const part of this.parts) part.update?.(task);
    const about = [task.status, task.code, task.commit, task.updated_at].join();
    if (about !== this.reviewOf) this.#askReview(about);
  }

  /** Loads what a decision needs: the summary, the gates of the commit, and what is allowed. */
  async #askReview(about) {
    this.reviewOf = about;
    try {
      const review = await get(taskPath(this.id, "review"), {}, this.signal);
      if (this.reviewOf !== about) return;
      this.review = review;
      this.rail.update(this.task, review);
    } catch (error) {
      this.reviewOf = "";
      if (error.code !== "NETWORK") refused(error);
    }
  }

  #decided(task) {
    if (task) this.#take(task);
    this.stale = true;
    this.#openRail(false);
  }

  #openRail(isOpen = !this.node.hasAttribute("data-rail")) {
    this.node.toggleAttribute("data-rail", isOpen);
    this.railButton.setAttribute("aria-expanded", String(isOpen));
    return isOpen;
  }

  get #isLive() {
    return this.task.status === "in_progress";
  }

  async #goTo(number, place = {}) {
    if (this.tabs.current?.id === "replay" && place.at) return this.parts.at(-1).seek(place.at);
    this.tabs.show("transcript");
    return this.transcript.choose(number, place).catch(refused);
  }

  /** A place that was chosen in the rail; `text` is marked there. */
  async #goToPlace(number, offset, text = "") {
    if (matchMedia(NARROW).matches) this.#openRail(false);
    await this.#goTo(number, { offset });
    this.transcript.mark(text);
  }

  #search(text) {
    if (text) this.#openRail(true);
    else this.transcript.mark("");
    this.rail.search(text);
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
    this.rail.live.receive(event);
  }

  async #tick() {
    if (document.hidden || this.asking) return;
    this.asking = true;
    try {
      if (this.#isLive && Date.now() - this.askedAt > LONGEST_SILENCE) this.stale = true;
      const { stale } = this;
      if (this.stale) await this.#ask();
      else if (this.#isLive) this.timelineView.draw();
      await this.rail.refresh(this.#isLive, stale);
      if (this.#isLive) this.header.draw(this.rail.live.data);
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
    bind(".", "Open the menu", () => this.header.menu.open(), { group, signal });
    bind("t", "Open the timeline", () => this.timelineView.toggle(), { group, signal });
    bind("+", "Zoom into the timeline", () => this.timelineView.zoom(0.5), { group, signal });
    bind("-", "Zoom out", () => this.timelineView.zoom(2), { group, signal });
    bind("0", "Show all of the timeline", () => this.timelineView.fit(), { group, signal });
    bind("/", "Search all transcripts, or the changes", () => this.#find(), { group, signal });
    bind("f", "Follow the transcript", () => this.transcript.toggleFollow(), { group, signal });
    bind("Escape", "Close what is open", () => this.#close(), { group, signal });
  }

  /** Esc closes the rail of a phone, then the results of a search, then the timeline. */
  #close() {
    if (this.node.hasAttribute("data-rail")) this.#openRail(false);
    else if (this.rail.views.current !== "overview") this.rail.views.show("overview");
    else if (!this.timelineView.slim) this.timelineView.toggle();
  }

  #find() {
    if (this.tabs.current?.id === "changes") return this.tabs.current.find();
    this.tabs.show("transcript");
    return this.transcript.find.focus();
  }
}

/** The tab is kept in the address without losing the anchor. */
function keepTab(id) {
  const { hash } = location;
  keepInAddress({ tab: id === "transcript" ? "" : id });
  if (hash && id === "transcript") history.replaceState(history.state, "", location.pathname + location.search + hash);
}
