/** The prompt of each attempt, as it was sent: all of them in a tab, and one above its transcript. */

import { get, taskPath } from "../api.js";
import { h, replace } from "../dom.js";
import { bytes, clock } from "../format.js";

/** The tab: one fold per attempt, the newest open. */
export function promptsTab(id, signal) {
  const root = h("div", { class: "stack" });
  let known = 0;
  const update = (task) => {
    const fresh = task.attempts.slice(known);
    known = task.attempts.length;
    for (const attempt of fresh) root.prepend(promptCard(id, attempt, signal));
    if (!known) replace(root, h("p", { class: "empty" }, "No attempts yet."));
    else root.querySelector(".empty")?.remove();
  };
  const open = () => {
    if (root.querySelector("details[open]")) return;
    const newest = root.querySelector("details");
    if (newest) newest.open = true;
  };
  return { node: h("div", {}, h("h2", { class: "hidden-text" }, "Prompts"), root), update, open };
}

/** The prompt of one attempt, folded. */
export function promptFold(id, number, signal) {
  return fold(id, number, signal, "prompt attempt-prompt", h("b", {}, "Prompt"));
}

function promptCard(id, attempt, signal) {
  const title = `#${attempt.number} ${attempt.phase}, iteration ${attempt.iteration}`;
  const facts = [attempt.executor, attempt.model, clock(attempt.started_at, true)].filter(Boolean).join(" · ");
  return fold(id, attempt.number, signal, "card prompt", h("b", {}, title), " ", h("span", { class: "muted" }, facts));
}

function fold(id, number, signal, kind, ...summary) {
  const body = h("div", { class: "stack" }, h("p", { class: "faint" }, "Loading…"));
  const node = h("details", { class: kind }, h("summary", {}, summary), body);
  node.addEventListener("toggle", () => load(id, number, body, signal), { once: true });
  return node;
}

async function load(id, number, body, signal) {
  try {
    const { text, system } = await get(taskPath(id, "attempts", number, "prompt"), {}, signal);
    replace(body, system && part("System", system), part("Prompt", text));
  } catch (error) {
    if (error.name !== "AbortError") replace(body, h("p", { class: "muted" }, error.message));
  }
}

function part(name, text) {
  const copy = h("button", { class: "btn quiet", type: "button" }, "Copy");
  copy.addEventListener("click", async () => {
    await navigator.clipboard.writeText(text);
    copy.textContent = "Copied";
  });
  return h(
    "section",
    {},
    h("div", { class: "row" }, h("h3", { class: "grow" }, `${name} · ${bytes(new Blob([text]).size)}`), copy),
    h("pre", { class: "paper", tabindex: "0" }, text),
  );
}
