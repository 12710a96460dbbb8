/** The buttons of a card. */

import { h, replace } from "../dom.js";
import { isHeld } from "../undo.js";
import { answersOf } from "../work/answers.js";

/** Fills `node` with the buttons of the decision that `item` asks for, and with `more`; `answer(verb)` performs it. */
export function setButtons(node, item, answer, more = []) {
  const answers = [...answersOf(item), ...more];
  const asks = answers.map(([verb]) => verb).join();
  if (node.dataset.asks !== asks) {
    node.dataset.asks = asks;
    replace(node, answers.map(([verb, text, key, look]) => {
      const props = { class: `btn ${look}`, type: "button", data: { verb }, on: { click: () => answer(verb) } };
      return h("button", props, text, key && h("kbd", { "aria-hidden": "true" }, key));
    }));
  }
  for (const button of node.children) button.setAttribute("aria-disabled", isHeld(item.id));
}
