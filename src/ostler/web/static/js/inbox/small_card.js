/** The card of a waiting task on the board. */

import { phaseDots, priority, setPhases, setPriority, setStatus, setText, setWarnings, titleLink, warningChip } from "../board/parts.js";
import { h } from "../dom.js";
import { money } from "../format.js";
import { plainText } from "../markdown.js";
import { onServer } from "../place.js";
import { setTicking, ticking } from "../tick.js";
import { isHeld } from "../undo.js";
import { menuOf } from "../work/menu.js";
import { setButtons } from "./answer.js";
import { inWords, placeOf } from "./kinds.js";
import { gateTicks, setGates, setSize, sizeOfChange } from "./ticks.js";

/** `answer(verb, item)` performs an action. */
export function smallCard(first, answer) {
  let item = first;
  const chip = h("span", { class: "chip" });
  const warned = warningChip();
  const since = ticking("ago", first.waiting_since);
  const level = priority();
  const title = titleLink(first);
  const request = h("p", {});
  const message = h("p", { class: "needs-message" });
  const size = sizeOfChange();
  const gates = gateTicks();
  const buttons = h("div", { class: "row wrap" });
  const dots = phaseDots();
  const paid = h("span", { class: "num small muted" });
  const menu = menuOf(() => item, answer);
  const node = h("div", { class: "tile needs-card", role: "listitem", data: { task: first.id } },
    h("div", { class: "row card-head small muted" }, h("div", { class: "row wrap" }, level, chip, warned, since), h("div", { class: "row" }, dots, menu)),
    title, request, message,
    h("div", { class: "row wrap small" }, size, gates),
    h("div", { class: "row needs-foot" }, buttons, paid));
  return { node, update };

  function update(now) {
    item = now;
    node.dataset.status = item.status;
    setStatus(chip, item);
    setWarnings(warned, item.warnings);
    setTicking(since, item.waiting_since);
    setPriority(level, item.priority);
    setPhases(dots, item.phases);
    setText(title, item.title);
    title.href = onServer(placeOf(item));
    setText(request, inWords(item));
    const text = item.question || (item.kind === "review" && item.summary) || (item.conflict ? "" : item.message);
    setText(message, plainText(text));
    message.title = text;
    setSize(size, item.diffstat);
    setGates(gates, item.gates);
    setText(paid, item.cost_usd === null ? "" : money(item.cost_usd));
    setButtons(buttons, item, (verb) => answer(verb, item));
    node.classList.toggle("is-held", isHeld(item.id));
  }
}
