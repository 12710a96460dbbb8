/** The settings: those that the browser may change, and how to change the others. */

import { get, patch } from "../api.js";
import { h, replace } from "../dom.js";
import { browserList } from "../settings/browsers.js";
import { settingsDraft } from "../settings/draft.js";
import { modelList } from "../settings/models.js";
import { copyButton, otherSettings } from "../settings/others.js";
import { settingRow } from "../settings/row.js";
import { notify } from "../toast.js";

const SECTIONS = [
  ["work", "Work", /^run\./],
  ["budgets", "Budgets", /^budget\./],
  ["models", "Models", /^(models\[|selection\.)/],
  ["limits", "Limits of providers", /^limits\./],
  ["retries", "Retries", /^retry\./],
  ["slots", "Worker slots", /^pools\./],
  ["messages", "Messages to programs and webhooks", /^notify\[/],
];

/** Shows the page. */
export async function show(root, _params, signal) {
  const body = h("div", { class: "settings-body stack wide-gap" });
  const bar = h("div", { class: "settings-save", hidden: true });
  const draft = settingsDraft(() => drawBar());
  let given = await get("/settings", {}, signal);
  let problems = new Map();
  let file = "project";
  let message = "";

  function draw(focus = "") {
    replace(body,
      given.notice && notice(given.notice),
      SECTIONS.map((section) => drawSection(section, given.settings, draft, problems, draw)),
      h("section", { id: "browsers", class: "card stack" }, h("h2", {}, "Browsers that are logged in"), browserList(signal)),
      others(given.settings));
    drawBar();
    if (focus) body.querySelector(`[data-key="${CSS.escape(focus)}"]`)?.focus();
  }

  function drawBar() {
    bar.hidden = !draft.count;
    replace(bar, draft.count > 0 && [
      h("p", { class: "grow", role: "status" }, draft.count === 1 ? "1 change is not saved" : `${draft.count} changes are not saved`),
      message && h("p", { class: "form-error", role: "alert" }, message),
      fileChoice(given.files, file, (chosen) => (file = chosen)),
      h("button", { class: "btn quiet", type: "button", on: { click: discard } }, "Discard"),
      h("button", { class: "btn primary", type: "button", on: { click: save } }, "Save")]);
  }

  function discard() {
    draft.clear();
    [problems, message] = [new Map(), ""];
    draw();
  }

  async function save() {
    [problems, message] = [new Map(), ""];
    try {
      given = await patch("/settings", { version: given.version, file, edits: draft.edits, ...(draft.models && { models: draft.models }) });
      draft.clear();
      notify("Settings saved");
    } catch (error) {
      await explain(error);
    }
    draw();
    body.querySelector(".setting-problem")?.scrollIntoView({ block: "center" });
  }

  /** After a conflict the page has the values of the files, and the changes are still there. */
  async function explain(error) {
    if (error.problems.length) problems = new Map(error.problems.map((one) => [one.key, one.message]));
    message = problems.size ? "Correct the marked values." : [error.message, error.hint].filter(Boolean).join("; ");
    if (error.code !== "CONFLICT") return;
    given = await get("/settings", {}, signal);
    draft.rebase(given.settings);
    message = "A settings file was changed meanwhile. Your changes are still here: check them, and save again.";
  }

  body.addEventListener("click", ({ target }) => target.dataset.redraw && draw());
  replace(root, h("div", { class: "page settings" },
    h("header", { class: "stack tight" }, h("h1", {}, "Settings"), h("p", { class: "muted" }, about(given.files))),
    contents(given.settings),
    h("div", { class: "stack" }, body, bar)));
  draw();
}

function about(files) {
  const project = files.find(({ file }) => file === "project");
  return `Changes are written to ${project?.name ?? "ostler.toml"} and apply at once; every value shows where it comes from.`;
}

function visible(settings, [, , pattern]) {
  return settings.filter(({ key }) => pattern.test(key));
}

function contents(settings) {
  const named = SECTIONS.filter((section) => visible(settings, section).some(({ editable }) => editable));
  const links = [...named.map(([id, name]) => [id, name]), ["browsers", "Browsers"], ["others", "All other settings"]];
  return h("nav", { class: "settings-contents", "aria-label": "Sections" }, links.map(([id, name]) => h("a", { href: `#${id}` }, name)));
}

function drawSection(section, settings, draft, problems, draw) {
  const [id, name] = section;
  const own = visible(settings, section);
  const rows = own.filter(({ key, editable }) => editable && !/^(models|notify)\[/.test(key));
  const messages = own.filter(({ key }) => key.startsWith("notify["));
  const models = own.filter(({ key }) => key.startsWith("models["));
  if (!own.some(({ editable }) => editable)) return null;
  return h("section", { id, class: "card stack" }, h("h2", {}, name),
    rows.map((one) => settingRow(one, draft, problems)),
    receivers(messages).map(({ name, list }) => [h("h3", { class: "cut" }, name), list.map((one) => settingRow(one, draft, problems))]),
    models.length > 0 && modelList(models, draft, problems, draw));
}

/** The settings of each [[notify]], with its program or address. */
function receivers(settings) {
  const found = new Map();
  for (const one of settings) {
    const receiver = found.get(one.key.split(".")[0]) ?? { name: "", list: [] };
    found.set(one.key.split(".")[0], receiver);
    if (one.editable) receiver.list.push(one);
    else if (/\.(command|url)$/.test(one.key) && one.value.length) receiver.name = [one.value].flat().join(" ");
  }
  return [...found.values()];
}

function others(settings) {
  return h("section", { id: "others", class: "card stack" },
    h("h2", {}, "All other settings"),
    h("p", { class: "muted" }, "Settings with a command, a path, an environment or a permission are changed in a terminal only."),
    h("div", {}, otherSettings(settings.filter(({ editable }) => !editable))));
}

function notice(text) {
  const [fact, command] = text.split("  Next: ");
  return h("div", { class: "card row wrap settings-notice", role: "status" }, h("p", { class: "grow" }, fact), command && [h("code", {}, command), copyButton(command)]);
}

function fileChoice(files, chosen, choose) {
  const select = h("select", { "aria-label": "Save to", on: { change: ({ target }) => choose(target.value) } },
    files.map(({ file, name }) => h("option", { value: file, selected: file === chosen }, file === "user" ? `All projects (${name})` : `This project (${name})`)));
  return h("div", { class: "settings-file" }, select);
}
