/** Coloured lines of a diff, a part at a time. */

import { h } from "../dom.js";

const AT_ONCE = 400;
const SIGNS = { added: "+", removed: "-", same: " ", hunk: "" };

/** Lines of a diff as an element; long diffs are shown in parts. */
export function diffView(lines) {
  const body = h("div", {
    class: "diff mono",
    role: "group",
    "aria-label": "Changes",
    tabindex: "0",
  });
  const more = h("button", { class: "btn quiet", type: "button", on: { click: () => grow() } });
  let shown = 0;
  const grow = () => {
    const next = lines.slice(shown, shown + AT_ONCE);
    shown += next.length;
    body.append(...next.map((line) => diffLine(line)));
    more.hidden = shown >= lines.length;
    more.textContent = `Show more (${(lines.length - shown).toLocaleString("en")} lines left)`;
  };
  grow();
  return h("div", { class: "diff-part" }, body, more);
}

function diffLine(line) {
  return h(
    "div",
    { class: "diff-line", data: { kind: line.kind } },
    h("span", { class: "diff-text" }, SIGNS[line.kind] + line.text),
  );
}
