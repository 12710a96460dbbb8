/** The diff of a task's branch: its files, each of which opens. */

import { get, taskPath } from "../api.js";
import { h, replace } from "../dom.js";
import { plural } from "../format.js";
import { diffView } from "./diff.js";
import { parsePatch } from "./patch.js";

const FILES_AT_ONCE = 50;
const OPEN_LINES = 300;
const OPEN_IN_ALL = 1500;

/** The tab; it reloads each time it is opened. */
export function changesTab(id, signal) {
  const root = h("div", { class: "stack" });
  const open = async () => {
    try {
      const { patch, truncated } = await get(taskPath(id, "diff"), {}, signal);
      replace(root, drawn(parsePatch(patch), truncated));
    } catch (error) {
      if (error.name === "AbortError") return;
      replace(root, h("p", { class: "empty" }, `${capital(error.message)}.`));
    }
  };
  return { node: root, open };
}

function drawn(files, truncated) {
  if (!files.length) return h("p", { class: "empty" }, "No changes on its branch yet.");
  const sum = (name) => files.reduce((total, file) => total + file[name], 0);
  const list = h("div", { class: "stack" });
  return [
    h(
      "p",
      { class: "row wrap" },
      plural(files.length, "file"),
      counts(sum("added"), sum("removed")),
      truncated &&
        h(
          "span",
          { class: "muted" },
          "The patch is larger than 4 MB; this is its beginning. ostler diff prints all of it.",
        ),
    ),
    files.length > 1 && fileList(files, list),
    list,
    ...grower(files, list),
  ];
}

function fileList(files, list) {
  const rows = files
    .slice(0, 500)
    .map((file, index) =>
      h(
        "li",
        {},
        h(
          "button",
          { class: "btn quiet file-link", type: "button", on: { click: () => jump(list, index) } },
          h("span", { class: "cut mono" }, file.path),
          counts(file.added, file.removed),
        ),
      ),
    );
  return h(
    "details",
    { class: "card file-list", open: files.length <= 12 },
    h("summary", {}, "Files"),
    h("ul", {}, rows),
  );
}

function jump(list, index) {
  const card = list.children[index];
  if (!card) return;
  card.open = true;
  card.scrollIntoView({ block: "start" });
}

function grower(files, list) {
  let shown = 0;
  let lines = 0;
  const more = h("button", { class: "btn", type: "button", on: { click: () => grow() } });
  const grow = () => {
    for (const file of files.slice(shown, shown + FILES_AT_ONCE)) {
      const opened = file.lines.length <= OPEN_LINES && lines < OPEN_IN_ALL;
      lines += opened ? file.lines.length : 0;
      list.append(fileCard(file, opened));
    }
    shown = Math.min(files.length, shown + FILES_AT_ONCE);
    more.hidden = shown >= files.length;
    more.textContent = `Show more files (${files.length - shown} left)`;
  };
  grow();
  return [more];
}

function fileCard(file, opened) {
  const body = h("div", {});
  const name = file.kind === "moved" ? `${file.was} → ${file.path}` : file.path;
  const mark = [{ new: "new", deleted: "deleted", moved: "moved" }[file.kind], file.binary && "binary"]
    .filter(Boolean)
    .join(", ");
  const line = h(
    "summary",
    { class: "row" },
    h("span", { class: "mono cut grow" }, name),
    mark && h("span", { class: "chip plain" }, mark),
    counts(file.added, file.removed),
  );
  const card = h("details", { class: "card file" }, line, body);
  const fill = () => card.open && !body.firstChild && replace(body, fileBody(file));
  card.addEventListener("toggle", fill);
  if (opened) card.open = true;
  if (opened) fill();
  return card;
}

function fileBody(file) {
  if (file.binary) return h("p", { class: "muted file-note" }, "Binary file, not shown.");
  if (!file.lines.length) return h("p", { class: "muted file-note" }, "No changed lines.");
  return diffView(file.lines, true);
}

function counts(added, removed) {
  if (!added && !removed) return null;
  return h(
    "span",
    { class: "counts num mono", "aria-label": `${added} lines added, ${removed} removed` },
    h("span", { class: "count-added" }, `+${added}`),
    h("span", { class: "count-removed" }, `−${removed}`),
  );
}

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1).replace(/\.$/, "");
