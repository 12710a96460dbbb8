/** Moves waiting tasks in the queue: by keys, and by dragging their cards. */

import { patch, taskPath } from "../api.js";
import { notify, refused } from "../toast.js";

/** Moves a task: first, last, before:ID or after:ID. Returns the task, or null if the server refused it. */
export async function moveInQueue({ id, title, priority }, where) {
  try {
    const task = await patch(taskPath(id), { queue: where });
    notify(task.priority === priority ? `Moved: ${title}` : `Moved: ${title}. Its priority is ${task.priority} now.`);
    return task;
  } catch (error) {
    refused(error);
    return null;
  }
}

/** Moves the focused task of `list` up (-1) or down (1); `pile` shows its new place at once. False if none is focused. */
export function moveFocused(list, pile, by) {
  const at = list.focused();
  const other = list.rows[at + by];
  if (at < 0) return false;
  if (other) moveBeside(pile, list.rows[at], other, by);
  return true;
}

/** Lets the cards of `list` be dragged to another place. */
export function dragInQueue(list, pile) {
  const { node } = list;
  let dragged = null;
  let over = null;
  node.addEventListener("dragstart", (event) => {
    const card = event.target.closest?.("[data-task]");
    dragged = list.rows.find(({ id }) => id === card?.dataset.task) ?? null;
    if (!dragged) return;
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", dragged.id);
  });
  node.addEventListener("dragover", (event) => {
    const card = event.target.closest("[data-task]");
    if (!dragged || !card) return;
    event.preventDefault();
    mark(card, side(card, event));
  });
  node.addEventListener("drop", (event) => {
    const card = event.target.closest("[data-task]");
    const other = list.rows.find(({ id }) => id === card?.dataset.task);
    if (!dragged || !other) return;
    event.preventDefault();
    if (other.id !== dragged.id) moveBeside(pile, dragged, other, side(card, event));
  });
  node.addEventListener("dragend", () => {
    dragged = null;
    mark(null);
  });

  function mark(card, by = 0) {
    if (over) delete over.dataset.drop;
    over = card;
    if (card) card.dataset.drop = by < 0 ? "above" : "below";
  }
}

async function moveBeside(pile, row, other, by) {
  pile.place(row.id, other.id, by);
  if (!(await moveInQueue(row, `${by < 0 ? "before" : "after"}:${other.id}`))) pile.refresh();
}

/** -1 in the upper half of a card, 1 in the lower one. */
function side(card, { clientY }) {
  const { top, height } = card.getBoundingClientRect();
  return clientY < top + height / 2 ? -1 : 1;
}
