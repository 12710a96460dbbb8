/** The gates of a task and their results. */

import { address, get, taskPath } from "../api.js";
import { h, replace } from "../dom.js";
import { bytes } from "../format.js";
import { refused } from "../toast.js";

const KIND = {
  auto: "automatic",
  command: "a command decides",
  ai: "a reviewing agent decides",
  human: "a person decides",
  skip: "no gate",
};
const LONGEST = 200_000;
const MOST_FETCHED = 8_000_000;

/** The tab. */
export function gatesTab(id) {
  const root = h("div", { class: "stack" });
  return {
    node: root,
    update: (task) =>
      replace(
        root,
        task.phases.map((phase) => gateCard(task.id ?? id, phase)),
        (task.gates ?? []).map(({ name, gate }) => gateCard(task.id ?? id, { id: name, gate, retries: 0 })),
      ),
  };
}

function gateCard(id, phase) {
  const { gate } = phase;
  const output = h("div", {});
  const log = h("details", {}, h("summary", {}, "Output"), output);
  log.addEventListener(
    "toggle",
    () => {
      if (log.open)
        gateOutput(id, phase.id, Infinity).then(
          (node) => replace(output, node ?? h("p", { class: "faint" }, "No output kept.")),
          refused,
        );
    },
    { once: true },
  );
  return h(
    "article",
    { class: "card stack gate", data: { status: gate.verdict } },
    h(
      "div",
      { class: "row wrap" },
      h("h2", {}, phase.id),
      h("span", { class: "chip", data: { status: gate.verdict } }, verdictText(gate)),
      h("span", { class: "muted" }, KIND[gate.type] ?? gate.type),
      gate.sha && h("code", { class: "faint", title: gate.sha }, gate.sha.slice(0, 10)),
    ),
    gate.reason && h("p", { class: "gate-reason" }, gate.reason),
    gate.check?.isolation &&
      h("p", { class: "muted" }, gate.check.isolation === "none" ? "not isolated" : `isolated (${gate.check.isolation})`),
    gate.check?.no_environment &&
      h("p", { class: "muted" }, `no environment of the lockfile: ${gate.check.no_environment}`),
    gate.check?.weakened?.length > 0 &&
      h("ul", { class: "muted" }, ...gate.check.weakened.slice(0, 20).map((line) => h("li", {}, line))),
    phase.retries > 0 &&
      h("p", { class: "muted" }, `It returned the work ${phase.retries === 1 ? "once" : `${phase.retries} times`}.`),
    (gate.type === "command" || gate.check?.command) && log,
  );
}

/** The verdict as text; one that a person replaced has the person and the gate's own verdict. */
const verdictText = ({ verdict, by, original }) =>
  verdict === "overruled" || (verdict === "skipped" && original)
    ? `${verdict} by ${by ?? "a person"} (was: ${(original ?? "unknown").replaceAll("_", " ")})`
    : verdict.replaceAll("_", " ");

/** The last lines of the newest output of a phase's gate; null if there is none. */
export async function gateOutput(id, phase, lines) {
  if (!phase) return null;
  const { files } = await get(taskPath(id, "files"));
  const logs = files
    .filter((file) => isLogOf(file.path, phase))
    .sort((left, right) => numberOf(right.path) - numberOf(left.path));
  if (!logs.length) return null;
  const href = fileAddress(id, logs[0].path);
  if (logs[0].size > MOST_FETCHED) return h("a", { href, download: true }, `${logs[0].path}, ${bytes(logs[0].size)}`);
  const answer = await fetch(href, { credentials: "same-origin" });
  const text = (await answer.text()).slice(-LONGEST).trimEnd().split("\n").slice(-lines).join("\n");
  return h(
    "figure",
    {},
    h("figcaption", { class: "muted" }, `${logs[0].path} · ${bytes(logs[0].size)}`),
    h("pre", { class: "tool-output", tabindex: "0" }, text || "(empty)"),
  );
}

/** The address of one of a task's files. */
export const fileAddress = (id, path) => address(taskPath(id, "files", ...path.split("/")));

const isLogOf = (path, phase) => path.startsWith(`gates/${phase}-`) && /-\d+\.log$/.test(path);
const numberOf = (path) => Number(/-(\d+)\.log$/.exec(path)[1]);
