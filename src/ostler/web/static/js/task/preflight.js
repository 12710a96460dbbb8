/** The findings of the preflight: what a run of this project needs and lacks. */

import { get } from "../api.js";
import { h, replace } from "../dom.js";

export class Preflight {
  node = h("section", { class: "stack", hidden: true });

  /** Loads the findings; a project without any shows nothing. */
  async refresh(signal) {
    const { problems } = await get("/preflight", {}, signal);
    this.node.hidden = !problems.length;
    replace(this.node, h("h2", {}, "Preflight"), h("ul", {}, problems.map(finding)));
  }
}

function finding({ file, line, key, message, severity }) {
  const place = [line ? `${file}:${line}` : file, key].filter(Boolean).join(": ");
  return h("li", {}, `${severity}: `, place && [h("code", {}, place), " "], message);
}
