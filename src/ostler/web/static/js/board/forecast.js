/** The line with the forecast of the waiting tasks. */

import { get } from "../api.js";
import { h } from "../dom.js";
import { forecastText } from "../plots/forecast_text.js";
import { setText } from "./parts.js";

/** `refresh()` reloads it; the line is hidden when no task waits, or too few tasks ended for a forecast. */
export class ForecastLine {
  node = h("p", { class: "forecast muted", hidden: true, "aria-label": "Forecast" });

  async refresh(signal) {
    const forecast = await get("/forecast", {}, signal);
    this.node.hidden = !(forecast.tasks_waiting && forecast.is_known);
    setText(this.node, this.node.hidden ? "" : forecastText(forecast));
  }
}
