/** Notifications of the browser, for the occasions of [[notify]], while the tab is hidden. */

import { get, taskPath } from "./api.js";
import { h, replace } from "./dom.js";
import { follow } from "./feed.js";
import { onServer, taskPage } from "./place.js";
import { go } from "./router.js";
import { notify } from "./toast.js";

const KEY = "ostler.notifications"; // of the browser, for all projects
const NEWEST_MS = 5 * 60_000; // events of a time without connection are not shown one by one
const TITLES = { needs_you: "Needs you", completed: "Completed", failed: "Failed", limited: "Limit reached", back: "Available again" };
const OF_ACCOUNT = ["limited", "back"];

const isOn = () => localStorage.getItem(KEY) === "on" && globalThis.Notification?.permission === "granted";

/** Shows a notification for each such event from now on. */
export function keepNotifying() {
  follow((event) => event.occasion && document.hidden && isOn() && show(event));
}

/** The switch in the menu; the browser asks for permission when it is switched on. */
export function notificationItem() {
  const state = h("span", { class: "key" });
  const button = h("button", { class: "menu-item", type: "button", role: "switch", on: { click: flip } }, "Notify me in this browser", state);
  draw();
  return button;

  async function flip() {
    if (isOn()) localStorage.removeItem(KEY);
    else await switchOn();
    draw();
  }

  function draw() {
    button.setAttribute("aria-checked", String(isOn()));
    replace(state, isOn() ? "on" : "off");
  }
}

async function switchOn() {
  if (!globalThis.Notification) return void notify("This browser has no notifications.");
  if ((await Notification.requestPermission()) === "granted") localStorage.setItem(KEY, "on");
  else notify("The browser blocks notifications of this address: allow them in its settings for this site.");
}

/** A newer notification of a task replaces its older one. */
async function show({ occasion, task_id: task, time, reason, message }) {
  if (Date.now() - Date.parse(time) > NEWEST_MS) return;
  const isTask = task && !OF_ACCOUNT.includes(occasion);
  const title = isTask ? await titleOf(task) : "";
  const path = isTask ? taskPage(task) : "/models";
  const options = { body: reason || message || "", tag: onServer(isTask ? path : "/models"), icon: "/static/icon.svg" };
  const shown = new Notification([TITLES[occasion] ?? occasion, title].filter(Boolean).join(": "), options);
  shown.onclick = () => {
    focus();
    go(path);
    shown.close();
  };
}

async function titleOf(task) {
  try {
    return (await get(taskPath(task))).title;
  } catch {
    return task; // the notification is more important than its title
  }
}
