/** The title of the browser's tab: the page, and how many tasks need a person. */

let page = "";
let waiting = 0;

/** Names the page that is shown. */
export function titled(name) {
  page = name;
  write();
}

/** Sets the number of tasks that need a person. */
export function needYou(count) {
  waiting = count;
  write();
}

function write() {
  const need = waiting ? `${waiting} ${waiting === 1 ? "needs" : "need"} you` : "";
  document.title = [need, page, "Ostler"].filter(Boolean).join(" · ");
}
