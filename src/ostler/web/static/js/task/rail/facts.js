/** The facts of a task in the rail: its agent, its branch, its files, its cost. */

import { get, taskPath } from "../../api.js";
import { h, replace } from "../../dom.js";
import { ago, clock, money, plural, tokens, usedTokens } from "../../format.js";
import { refused } from "../../toast.js";
import { copyButton } from "./copy.js";

/** A list of facts that `update(task)` keeps current. */
export class Facts {
  constructor(id, signal) {
    this.list = h("dl", { class: "rail-facts" });
    this.files = h("div", { class: "stack" });
    const open = h("details", { class: "rail-fold", on: { toggle: () => open.open && this.#askCheckout(id, signal) } },
      h("summary", {}, "Get the files"), this.files);
    this.checkout = open;
    this.node = h("div", { class: "stack" }, this.list, open);
  }

  update(task) {
    const drawn = JSON.stringify(facts(task).map(([name, value]) => [name, value?.textContent ?? value]));
    this.checkout.hidden = !task.commit && !task.worktree;
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    replace(this.list, facts(task).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
  }

  async #askCheckout(id, signal) {
    try {
      const found = await get(taskPath(id, "checkout"), {}, signal);
      const commands = [found.command, found.pull_request].filter(Boolean);
      const links = found.editor_links.map(({ name, url }) => editorLink(name, url));
      replace(this.files, commands.map(command), links.length > 0 && h("p", { class: "row wrap" }, links), found.reason && h("p", { class: "muted small" }, found.reason));
    } catch (error) {
      refused(error);
    }
  }
}

/** A command with a button that copies it. */
export function command(text) {
  return h("div", { class: "rail-command" }, h("code", { tabindex: "0" }, text), copyButton(text));
}

/** The browser hands the link to the editor. */
function editorLink(name, url) {
  return h("button", { class: "btn", type: "button", on: { click: () => location.assign(url) } }, `Open in ${name}`);
}

function facts(task) {
  const last = task.attempts.at(-1);
  const used = usedTokens(task.usage);
  return [
    ["Agent", last ? [last.executor, last.model].filter(Boolean).join(" · ") : "not started"],
    ["Cost", task.status !== "in_progress" && `${money(task.cost_usd)} · ${tokens(used)} tokens · ${plural(task.attempts.length, "attempt")}`],
    ["Branch", task.branch && h("code", {}, task.branch)],
    ["Commit", task.commit && h("code", { title: task.commit }, task.commit.slice(0, 10))],
    ["Target", task.target],
    ["Worktree", task.worktree && h("code", { title: task.worktree }, task.worktree.split("/").at(-1))],
    ["Pull request", task.pr_url && h("a", { href: task.pr_url, target: "_blank", rel: "noopener noreferrer" }, task.pr_url.replace(/^https:\/\//, ""))],
    ["Output", task.output_path && h("code", {}, task.output_path)],
    ["Sandbox", sandbox(task)],
    ["Worker", task.host],
    ["Label", task.given?.label],
    ["Pipeline", task.pipeline && h("a", { href: `/pipelines/${encodeURIComponent(task.pipeline)}` }, [task.pipeline, task.step].filter(Boolean).join(" · "))],
    ["Starts from", task.builds_on?.length && task.builds_on.map((one) => `${one.task} at ${one.commit.slice(0, 10)}`).join(", ")],
    ["Waits for", task.waits_for?.length && task.waits_for.join(", ")],
    ["Resumes", task.resumes_at && clock(task.resumes_at)],
    ["Task", h("code", {}, task.id)],
    ["Kind", `${task.weight} · ${task.priority}`],
    ["Created", `${clock(task.created_at)}, changed ${ago(task.updated_at)}`],
  ].filter(([, value]) => value);
}

/** The sandbox of the last attempt; working without one is shown too. */
function sandbox({ sandbox: used, permissions }) {
  if (!used) return "";
  const tier = used.tier ?? "supervised";
  const none = ["supervised", "limits"].includes(tier);
  const text = none ? "none" : `${tier}, network ${used.network ?? "on"}`;
  return h("span", { title: used.reason ?? "" }, [text, permissions && `permissions ${permissions}`].filter(Boolean).join(", "));
}
