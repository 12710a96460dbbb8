/** What became of completed work: merged, published, or not yet. */

import { h, replace } from "../dom.js";
import { isMerged } from "./answers.js";
import { checksInWords } from "./checks.js";
import { pullRequestOf } from "./pull_request.js";

/** An element for it. */
export const outcomeLine = () => h("span", { class: "outcome cut" });

/** Writes it; the state of a pull request is added when GitHub has answered. */
export function setOutcome(node, row) {
  const { text, href = "", about = text, tone = "" } = outcomeOf(row);
  const shown = [text, href].join();
  if (node.dataset.shown !== shown) {
    Object.assign(node.dataset, { shown, tone, state: "" });
    node.title = about;
    replace(node, href ? h("a", { href, target: "_blank", rel: "noopener noreferrer" }, text) : text);
  }
  if (href) showPullRequest(node, row, { text, about });
}

async function showPullRequest(node, row, { text, about }) {
  const found = await pullRequestOf(row);
  if (node.dataset.shown !== [text, row.pr_url].join() || !found?.state) return;
  const { words, tone, title } = checksInWords(found);
  if (node.dataset.state === words) return;
  node.dataset.state = words;
  node.querySelector(".pull-state")?.remove();
  node.append(h("span", { class: "pull-state", data: { tone } }, ` ${words}`));
  node.title = [about, title].filter(Boolean).join("\n");
}

/** The warnings that the outcome does not have. */
export const otherWarnings = (row) => row.warnings.filter((text) => !isOutcome(row, text));

const isOutcome = (row, text) => isMerged(row) && text.startsWith(`merged into ${row.published_into} `);

function outcomeOf(row) {
  const { published_into: into, pr_url: url, diffstat, accept, result } = row;
  if (url) return { text: requestName(url), href: url, about: into ? `${url}, into ${into}` : url, tone: "open" };
  if (isMerged(row)) return { text: `Merged into ${into}`, about: row.warnings.find((one) => isOutcome(row, one)), tone: "ok" };
  if (diffstat && !diffstat.files) return { text: "No changes" };
  return { text: accept.length ? "Not merged" : result ?? "" };
}

function requestName(url) {
  const number = /\/(?:pull|merge_requests)\/(\d+)/.exec(url)?.[1];
  return number ? `PR #${number}` : "Pull request";
}
