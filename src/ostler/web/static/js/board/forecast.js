/** The line with the forecast of the waiting tasks. */

import { get } from "../api.js";
import { h } from "../dom.js";
import { forecastText } from "../plots/forecast_text.js";
import { setText } from "./parts.js";

/** `refresh()` reloads it; the line is hidden when no task waits, or too few tasks ended for a forecast. */
export class ForecastLine {
  /** The places of the first waiting tasks: {place, starts_at} by id. */
  places = new Map();
  node = h("p", { class: "forecast muted", hidden: true, "aria-label": "Forecast" });

  async refresh(signal) {
    const forecast = await get("/forecast", {}, signal);
    this.places = new Map((forecast.queue ?? []).map((one) => [one.id, one]));
    this.node.hidden = !(forecast.tasks_waiting && forecast.is_known);
    setText(this.node, this.node.hidden ? "" : forecastText(forecast));
  }
}
