/** The choice of board or list, which is stored. */

import { h, icon } from "../dom.js";
import { BOARD, LIST } from "../drawings.js";

const KEY = "ostler.view";
const VIEWS = { board: ["Board", BOARD], list: ["List", LIST] };

/** The last choice. */
export const keptView = () => localStorage.getItem(KEY);

/** Two buttons; `choose(view)` is called when another one is pressed. */
export function viewSwitch(chosen, choose) {
  const buttons = Object.entries(VIEWS).map(([name, [text, drawing]]) => {
    const props = { type: "button", title: text, "aria-pressed": String(name === chosen), on: { click: () => press(name) } };
    return h("button", { ...props, data: { view: name } }, icon(drawing), h("span", {}, text));
  });
  return h("div", { class: "switch", role: "group", "aria-label": "View" }, buttons);

  function press(view) {
    localStorage.setItem(KEY, view);
    for (const button of buttons) button.setAttribute("aria-pressed", button.dataset.view === view);
    choose(view);
  }
}
