/** The browsers that are logged in, with a button to log each one out. */

import { get, post } from "../api.js";
import { h, replace } from "../dom.js";
import { clock } from "../format.js";
import { notify, refused } from "../toast.js";

/** Loads and shows them; the list is drawn again after a change. */
export function browserList(signal) {
  const list = h("ul", { class: "setting-browsers" });

  async function load() {
    const { sessions } = await get("/sessions", {}, signal);
    replace(list, sessions.map(entry));
  }

  async function end(id, name) {
    try {
      await post(`/sessions/${encodeURIComponent(id)}/revoke`);
      notify(`Logged out: ${name}`);
      await load();
    } catch (error) {
      refused(error);
    }
  }

  function entry({ id, browser, created_at: created, used_at: used, current }) {
    return h("li", { class: "row wrap" },
      h("div", { class: "grow" },
        h("strong", {}, browser), current && h("span", { class: "chip plain" }, "this browser"),
        h("p", { class: "muted" }, `Logged in ${clock(created)}, last used ${clock(used)}`)),
      !current && h("button", { class: "btn", type: "button", on: { click: () => end(id, browser) } }, "Log out"));
  }

  load().catch(refused);
  return list;
}
