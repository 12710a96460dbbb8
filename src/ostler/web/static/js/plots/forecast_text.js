/** The forecast in one sentence, with the times of the browser's time zone. */

import { clock } from "../format.js";

export const forecastText = ({ template, ...times }) =>
  `${template.replaceAll(/\{(resets_at|done_at)\}/g, (_, name) => clock(times[name]))}.`;
