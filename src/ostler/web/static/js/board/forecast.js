/** The line with the forecast of the waiting tasks. */

import { get } from "../api.js";
import { h } from "../dom.js";
import { setText } from "./parts.js";

/** `refresh()` reloads it; the line is hidden when no task waits. */
export class ForecastLine {
  node = h("p", { class: "forecast muted", hidden: true, "aria-label": "Forecast" });

  async refresh(signal) {
    const { tasks_waiting: waiting, text } = await get("/forecast", {}, signal);
    this.node.hidden = !waiting;
    setText(this.node, waiting ? `${text}.` : "");
  }
}
