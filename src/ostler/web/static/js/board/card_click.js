/** A click anywhere on a card opens its task, as its title does. */

const OWN = "a, button, input, select, textarea, label, summary";

/** Handles the clicks below `root`; parts with an action of their own keep it, and selected text stays selected. */
export function openOnClick(root) {
  root.addEventListener("click", (event) => {
    const link = linkOf(event);
    if (!link || String(getSelection())) return;
    const { ctrlKey, metaKey, shiftKey } = event;
    link.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, ctrlKey, metaKey, shiftKey }));
  });
  root.addEventListener("auxclick", (event) => {
    const link = event.button === 1 && linkOf(event);
    if (link) window.open(link.href, "_blank", "noopener");
  });
}

function linkOf({ target }) {
  return target.closest(OWN) ? null : target.closest("[data-task]")?.querySelector("a.tile-title");
}
